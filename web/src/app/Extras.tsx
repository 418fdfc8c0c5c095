import { useEffect } from "react";

import { Palette } from "@/palette/CommandCenter";
import StatusPieces from "@/status/StatusPieces";
import { DialogWindow } from "@/ui/dialog";
import "@/ui/markdown"; // most pages have some

/** What the first page does without until it is there. */
export default function Extras() {
  useEffect(() => {
    DialogWindow.preload(); // the first one opens at once
    Palette.preload();
  }, []);
  return <StatusPieces />;
}
