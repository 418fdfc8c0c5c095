import { setNonce } from "get-nonce";

/**
 * The policy of the page allows a <style> element only with this: the server makes a
 * new one for each answer. Libraries that add such elements are given it.
 */
export const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";

setNonce(nonce);
