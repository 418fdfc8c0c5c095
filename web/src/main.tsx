import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import "@/app/nonce"; // before what adds styles
import { App } from "@/app/App";
import { loadPage } from "@/app/pages";
import "@/styles.css";

loadPage(window.location.pathname);
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
