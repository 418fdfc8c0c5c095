import { useState } from "react";

import { Steps, useOnboarding } from "@/onboarding/Steps";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";

const key = "cmux-first-steps-seen";

/** The first steps, shown once, to who opens the page of a project that has nothing yet. */
export default function OnboardingModal() {
  const [seen, setSeen] = useState(() => localStorage.getItem(key) !== null);
  const onboarding = useOnboarding();
  const steps = onboarding.data?.steps ?? [];
  const nothing = steps.length > 0 && steps.some((s) => !s.done && !s.optional) && !steps.some((s) => s.done && (s.id === "organization" || s.id === "run"));
  if (seen || !nothing) {
    return null;
  }
  const close = () => {
    localStorage.setItem(key, "1");
    setSeen(true);
  };
  return (
    <Dialog title="First steps" description="This is what agents need, and what is still missing. You find it again under First steps." open onOpenChange={close} wide>
      <Steps />
      <div className="mt-4 flex justify-end">
        <Button tone="accent" onClick={close}>
          Go on
        </Button>
      </div>
    </Dialog>
  );
}
