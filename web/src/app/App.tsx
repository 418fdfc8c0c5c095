import { QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { BrowserRouter } from "react-router";

import { newQueryClient } from "@/api/client";
import { Shell } from "@/app/Shell";
import { useLive } from "@/live/store";
import { useNotifications } from "@/needs/notify";
import { Toasts } from "@/ui/toasts";

export function App() {
  const [client] = useState(newQueryClient);
  return (
    <QueryClientProvider client={client}>
      <BrowserRouter>
        <Live />
        <Shell />
        <Toasts />
      </BrowserRouter>
    </QueryClientProvider>
  );
}

function Live() {
  useLive();
  useNotifications();
  return null;
}
