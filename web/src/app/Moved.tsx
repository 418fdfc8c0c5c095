import { Navigate, useSearchParams } from "react-router";

import { Page } from "@/ui/page";

const moved: Readonly<Record<string, string>> = { teams: "/agents?tab=teams", locks: "/agents?tab=locks", alerts: "/settings", maintenance: "/health?tab=maintenance" };

/** Leads from the address of the former page of plans to where each of its tabs is now. */
export default function Moved() {
  const [params] = useSearchParams();
  return (
    <Page title="Plans">
      <Navigate replace to={moved[params.get("tab") ?? ""] ?? "/tasks?tab=schedule"} />
    </Page>
  );
}
