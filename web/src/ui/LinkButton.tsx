import type { ReactNode } from "react";
import { Link } from "react-router";

import { buttonClass, type Tone } from "@/ui/button";

/** A link to where something is done, which looks like the button that it is beside. */
export function LinkButton({ to, tone = "plain", icon, children }: { to: string; tone?: Tone; icon?: ReactNode; children: ReactNode }) {
  return (
    <Link to={to} className={buttonClass(tone)}>
      {icon}
      {/* One box: the words are not parted by the gap beside the icon. */}
      <span>{children}</span>
    </Link>
  );
}
