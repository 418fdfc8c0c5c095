import { Doctor } from "@/health/Doctor";
import { Incidents } from "@/health/Incidents";
import { Maintenance } from "@/health/Maintenance";
import { MorningReport } from "@/health/MorningReport";
import { Recover } from "@/health/Recover";
import { SystemHealth } from "@/health/SystemHealth";
import { useIncidents } from "@/health/queries";
import { Page } from "@/ui/page";
import { Tabs } from "@/ui/tabs";

/** How the organization and the project are, what went wrong, and what was done about it. */
export default function HealthPage() {
  const incidents = useIncidents(false);
  return (
    <Page title="Health">
      <Tabs
        label="Parts of health"
        tabs={[
          { id: "system", label: "System", content: () => <SystemHealth /> },
          { id: "incidents", label: "Incidents", badge: incidents.data?.pages[0]?.items.length || undefined, content: () => <Incidents /> },
          { id: "recover", label: "Recovery", content: () => <Recover /> },
          { id: "report", label: "Morning report", content: () => <MorningReport /> },
          { id: "doctor", label: "Doctor", content: () => <Doctor /> },
          { id: "maintenance", label: "Maintenance", content: () => <Maintenance /> },
        ]}
      />
    </Page>
  );
}
