import OnboardingModal from "@/onboarding/OnboardingModal";
import StatusPieces from "@/status/StatusPieces";
import "@/ui/DialogWindow"; // so that the first dialog opens at once
import "@/ui/markdown";

/** What the first page does without until it is there. */
export default function Extras() {
  return (
    <>
      <StatusPieces />
      <OnboardingModal />
    </>
  );
}
