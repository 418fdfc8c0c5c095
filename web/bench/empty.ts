/* An empty page as Vite makes it with React: the floor that the dashboard is measured beside. */
import react from "@vitejs/plugin-react";
import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const types: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

export async function serveEmpty(): Promise<{ url: string; end: () => void }> {
  const dir = mkdtempSync(join(import.meta.dirname, "..", "test-results", "empty-"));
  writeFileSync(join(dir, "index.html"), '<!doctype html><html lang="en"><title>empty</title><div id="root"></div><script type="module" src="/main.jsx"></script></html>');
  writeFileSync(join(dir, "main.jsx"), 'import { createRoot } from "react-dom/client";\ncreateRoot(document.getElementById("root")).render(<h1>Nothing</h1>);\n');
  const out = mkdtempSync(join(tmpdir(), "empty"));
  await build({ root: dir, configFile: false, plugins: [react()], logLevel: "error", build: { outDir: out, emptyOutDir: true } });
  const server: Server = createServer((request, response) => {
    const path = join(out, new URL(request.url ?? "/", "http://x").pathname.replace(/\/$/, "/index.html"));
    if (!path.startsWith(out) || !existsSync(path)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "Content-Type": types[extname(path)] ?? "application/octet-stream", "Content-Encoding": "gzip" }).end(gzipSync(readFileSync(path)));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    end: () => {
      server.close();
      rmSync(dir, { recursive: true });
      rmSync(out, { recursive: true });
    },
  };
}
