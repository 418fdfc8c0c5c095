import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import "@/app/nonce"; // before what adds styles
import { App } from "@/app/App";
import { loadPage } from "@/app/pages";
import { keepLook } from "@/app/prefs";
import "@/styles.css";

keepLook(); // before the first paint
loadPage(window.location.pathname);
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
