import { Steps } from "@/onboarding/Steps";
import { Page } from "@/ui/page";

/** What agents need that is missing, in the order in which it is to be done. */
export default function OnboardingPage() {
  return (
    <Page title="First steps">
      <div className="p-4">
        <Steps />
      </div>
    </Page>
  );
}
