import { StartOrganization } from "@/agents/OrganizationOrders";
import { api, hooks, type Api } from "@/api/client";
import { usePrefs, type Density, type Theme } from "@/app/prefs";
import { useHeartbeat } from "@/health/queries";
import { Alerts } from "@/settings/Alerts";
import { ConfigFile } from "@/settings/ConfigFile";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { Field, Select } from "@/ui/field";
import { count } from "@/ui/figures";
import { Page, Panel } from "@/ui/page";
import { Answer } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

const themes: readonly (readonly [Theme, string])[] = [
  ["system", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

const densities: readonly (readonly [Density, string])[] = [
  ["comfortable", "Comfortable"],
  ["dense", "Dense"],
];

/** How the page looks, and the organization's configuration: what is active and what its file says. */
export default function SettingsPage() {
  const state = useHeartbeat().data?.state;
  const config = hooks.useQuery("get", "/api/config", {}, { staleTime: 2000, enabled: state !== "none" });
  const apply = useOrder(
    async (changes: Api<"ConfigChange">[]) => {
      await api.POST("/api/config/apply", { body: { changes } });
      await config.refetch();
    },
    "The configuration of the file is active.",
  );
  const logout = useOrder(() => api.POST("/api/login/logout-all"), "Every browser is logged out.");
  const theme = usePrefs((p) => p.theme);
  const setTheme = usePrefs((p) => p.setTheme);
  const density = usePrefs((p) => p.density);
  const setDensity = usePrefs((p) => p.setDensity);
  const enterSends = usePrefs((p) => p.enterSends);
  const setEnterSends = usePrefs((p) => p.setEnterSends);
  return (
    <Page title="Settings">
      <div className="grid grid-cols-1 gap-4 p-4 xl:grid-cols-2 xl:items-start">
        <Panel title="This browser">
          <div className="flex flex-wrap items-end gap-4">
            <div className="wide-48">
              <Field label="Theme">{(ids) => <Select {...ids} options={themes} value={theme} onChange={(e) => setTheme(e.target.value as Theme)} />}</Field>
            </div>
            <div className="wide-48">
              <Field label="Density">{(ids) => <Select {...ids} options={densities} value={density} onChange={(e) => setDensity(e.target.value as Density)} />}</Field>
            </div>
            <div className="wide-48">
              <Field label="Messages">
                {(ids) => (
                  <Select
                    {...ids}
                    options={[
                      ["enter", "Enter sends"],
                      ["ctrl", "Ctrl+Enter sends"],
                    ]}
                    value={enterSends ? "enter" : "ctrl"}
                    onChange={(e) => setEnterSends(e.target.value === "enter")}
                  />
                )}
              </Field>
            </div>
            <Confirm tone="bad" title="Log out everywhere?" text="Each browser that is logged in, this one too, needs a new link from cmux open." action="Log out everywhere" onConfirm={() => logout.mutate()}>
              Log out everywhere
            </Confirm>
          </div>
        </Panel>
        <ConfigFile />
        {state === "none" ? (
          <Panel title="What the file changes" actions={<StartOrganization />}>
            <p>There is no organization yet. Its first start takes the file as it is.</p>
          </Panel>
        ) : (
          <Answer query={config}>
            {(c) => (
              <>
                <Panel
                  title="What the file changes"
                  actions={
                    <>
                      <Button busy={config.isFetching} onClick={() => void config.refetch()}>
                        Read again
                      </Button>
                      {c.changes.length > 0 && (
                        <Confirm
                          tone="accent"
                          busy={apply.isPending}
                          title={`Apply ${count(c.changes.length, "change")}?`}
                          text={<Changes changes={c.changes} />}
                          action="Apply"
                          onConfirm={() => apply.mutate(c.changes)}
                        >
                          Apply
                        </Confirm>
                      )}
                    </>
                  }
                >
                  <p className="text-muted">
                    <code>{c.file}</code> {!c.there && "is not there"}
                  </p>
                  {c.changes.length === 0 ? <p>The active configuration is what the file says.</p> : <Changes changes={c.changes} />}
                  <p className="mt-2 text-muted">
                    A change counts once you apply it. Agents that run act as before until they restart. <code>session</code>, <code>supervisor</code> and <code>port</code> count at the next start of the organization.
                  </p>
                </Panel>
                <Panel title="Active configuration">
                  <div tabIndex={0} role="region" aria-label="Active settings" className="overflow-x-auto">
                    <table className="w-full border-collapse text-left">
                      <thead>
                        <tr className="border-b border-line-strong">
                          <th scope="col" className="w-56 px-2 py-1">
                            Setting
                          </th>
                          <th scope="col" className="px-2 py-1">
                            Value
                          </th>
                        </tr>
                      </thead>
                      <tbody>
                        {c.in_force.map((s) => (
                          <tr key={s.key} className="border-b border-line">
                            <th scope="row" className="px-2 py-1 text-left font-normal">
                              <code>{s.key}</code>
                            </th>
                            <td className="px-2 py-1 whitespace-pre-wrap wrap-anywhere">{s.value}</td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                </Panel>
              </>
            )}
          </Answer>
        )}
        <Panel title="Alerts" ready={state === "none" || !config.isPending}>
          <Alerts />
        </Panel>
      </div>
    </Page>
  );
}

function Changes({ changes }: { changes: readonly Api<"ConfigChange">[] }) {
  return (
    <ul className="flex flex-col gap-1">
      {changes.map((c) => (
        <li key={c.key} className="wrap-anywhere">
          <code>{c.key}</code>: <del className="bg-removed px-1">{c.in_force === "" ? "nothing" : c.in_force}</del> <ins className="bg-added px-1 no-underline">{c.file === "" ? "nothing" : c.file}</ins>
        </li>
      ))}
    </ul>
  );
}
