import { useState } from "react";

import { api, type Api } from "@/api/client";
import { Button } from "@/ui/button";
import { Field, Input, Select } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

type Level = Api<"PostAlertRequest">["level"];

/** Tries whether an alert reaches the person, as the configuration says. */
export function Alerts() {
  const [level, setLevel] = useState<Level>("info");
  const [text, setText] = useState("A test of the alerts.");
  const alert = useOrder((body: Api<"PostAlertRequest">) => api.POST("/api/alert", { body }), ({ data }) => (data === undefined || data.ways.length === 0 ? "No way is configured for this level." : `Sent by ${data.ways.join(", ")}.`));
  return (
    <form
      className="flex max-w-lg flex-col gap-3"
      onSubmit={(e) => {
        e.preventDefault();
        alert.mutate({ level, text: text.trim() });
      }}
    >
      <p className="text-muted">
        cmux calls for you as <code>alert</code> in the organization's configuration says. Try whether it reaches you.
      </p>
      <Field label="Level">{(ids) => <Select {...ids} options={["info", "warning", "critical"]} value={level} onChange={(e) => setLevel(e.target.value as Level)} />}</Field>
      <Field label="Text">{(ids) => <Input {...ids} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
      <div>
        <Button type="submit" tone="accent" busy={alert.isPending} disabled={text.trim() === ""}>
          Send a test alert
        </Button>
      </div>
    </form>
  );
}
