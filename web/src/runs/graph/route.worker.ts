/* Finds the ways of edges beside the page: a thousand nodes take half a second. */
import { routes } from "@/runs/graph/route";

onmessage = ({ data }: MessageEvent<Parameters<typeof routes>>) => postMessage(routes(...data));
