import { QueryClientProvider } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { BrowserRouter } from "react-router";

import { newQueryClient } from "@/api/client";
import { usePrefs } from "@/app/prefs";
import { Shell } from "@/app/Shell";
import { useLive } from "@/live/store";
import { useNotifications } from "@/needs/notify";
import { Toasts } from "@/ui/toasts";

export function App() {
  const [client] = useState(newQueryClient);
  const theme = usePrefs((p) => p.theme);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
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
