import { api } from "@/api/client";
import { complain } from "@/ui/toasts";

/** Has the browser save a room as a file. */
export async function save(room: string, format: "md" | "json"): Promise<void> {
  try {
    const { data } = await api.GET("/api/rooms/{room}/export", { params: { path: { room }, query: { format } } });
    const url = URL.createObjectURL(new Blob([data?.text ?? ""], { type: format === "md" ? "text/markdown" : "application/jsonl" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = `${room}.${format === "md" ? "md" : "jsonl"}`;
    link.click();
    URL.revokeObjectURL(url);
  } catch (error) {
    complain(error);
  }
}
