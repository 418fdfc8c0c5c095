import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import "@/app/nonce"; // before what adds styles
import { App } from "@/app/App";
import "@/styles.css";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
