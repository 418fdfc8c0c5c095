import { Alerts } from "@/plans/Alerts";
import { Locks } from "@/plans/Locks";
import { Maintenance } from "@/plans/Maintenance";
import { Schedule } from "@/plans/Schedule";
import { Teams } from "@/plans/Teams";
import { Page } from "@/ui/page";
import { Tabs } from "@/ui/tabs";

/** What the organization does by itself, and what it shares. */
export default function PlansPage() {
  return (
    <Page title="Plans">
      <Tabs
        label="Kinds of plans"
        tabs={[
          { id: "schedule", label: "Schedule", content: () => <Schedule /> },
          { id: "teams", label: "Teams", content: () => <Teams /> },
          { id: "locks", label: "Locks", content: () => <Locks /> },
          { id: "alerts", label: "Alerts", content: () => <Alerts /> },
          { id: "maintenance", label: "Maintenance", content: () => <Maintenance /> },
        ]}
      />
    </Page>
  );
}
