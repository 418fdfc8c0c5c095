import type { Api } from "@/api/client";
import { commonActions } from "@/needs/actions";
import { decided } from "@/needs/answers";
import { Key } from "@/needs/HeldBar";
import { useDecide } from "@/needs/held";
import { Button } from "@/ui/button";
import { count } from "@/ui/figures";

/** One decision for several needs. */
export default function SeveralView({ needs, clear }: { needs: readonly Api<"Need">[]; clear: () => void }) {
  const decide = useDecide();
  const actions = commonActions(needs);
  return (
    <section aria-labelledby="several" className="flex flex-col gap-3 p-4">
      <h2 id="several" className="text-base font-semibold">{`${count(needs.length, "thing is", "things are")} chosen`}</h2>
      <div className="flex flex-wrap gap-1.5">
        {actions.map((a) => (
          <Button
            key={a.id}
            tone={a.tone}
            title={a.about}
            onClick={() => {
              decide(needs, decided(needs, a.done), a.send);
              clear();
            }}
          >
            {a.label} {a.key !== "" && <Key>{a.key}</Key>}
          </Button>
        ))}
        <Button tone="quiet" onClick={clear}>
          Choose none
        </Button>
      </div>
      {actions.length === 0 && <p className="text-muted">No decision fits all of them. Choose things of one kind.</p>}
      <ul className="flex flex-col gap-1">
        {needs.map((n) => (
          <li key={n.id} className="wrap-anywhere">
            <span className="text-muted">{n.called}</span> {n.title} {n.session !== undefined && <span className="text-muted">{`in ${n.session}`}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
