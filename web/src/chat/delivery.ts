import type { Api } from "@/api/client";
import type { Tone } from "@/ui/label";

const states: Readonly<Record<Api<"MailboxState">, readonly [Tone, string]>> = {
  queued: ["muted", "waits"],
  handed: ["info", "handed over"],
  confirmed: ["ok", "read"],
  failed: ["bad", "given up"],
  expired: ["bad", "expired"],
};

/** How far a message has come: the least of its recipients' states, and why it waits. */
export function deliveryOf(mail: Api<"Mail">): { word: string; tone: Tone; why?: string } | undefined {
  const worst = ["failed", "expired", "queued", "handed", "confirmed"] as const;
  const d = worst.map((state) => mail.deliveries.find((x) => x.state === state)).find((x) => x !== undefined);
  if (!d) {
    return undefined;
  }
  const [tone, word] = states[d.state];
  return { tone, word, ...(d.why === "" ? {} : { why: d.why }) };
}
