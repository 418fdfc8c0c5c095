import { Steps } from "@/onboarding/Steps";
import { Page } from "@/ui/page";

/** The missing requirements of agents, in the order of the steps. */
export default function OnboardingPage() {
  return (
    <Page title="First steps">
      <div className="p-4">
        <Steps />
      </div>
    </Page>
  );
}
