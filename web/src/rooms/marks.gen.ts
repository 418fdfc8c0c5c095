// The marks of rooms: made by go test ./agents/room/marks -run TestPage -update

export interface Mark {
  label: string; // as it is written
  tone: "info" | "ok" | "warn" | "bad";
  help: string; // what it does, a clause
}

export const marks: readonly Mark[] = [
  { label: "[PASS]", tone: "info", help: "as the whole answer, or as its last line where nothing is shared: the turn has nothing new" },
  { label: "@NAME", tone: "info", help: "wants an answer of that member; @all of everybody" },
  { label: "+1 NAME", tone: "ok", help: "agrees with that member; an answer that only agrees wakes nobody" },
  { label: "[HANDOFF:NAME] what", tone: "info", help: "gives what the sentence says to that member" },
  { label: "[EXPLORE]", tone: "info", help: "shown as what the member is doing" },
  { label: "[STATUS: words]", tone: "info", help: "shown as what the member is doing" },
  { label: "[DECISION] text", tone: "ok", help: "proposes a decision, to the end of the paragraph" },
  { label: "[BLOCKED] why", tone: "bad", help: "tells the person" },
  { label: "[QUESTION] text", tone: "warn", help: "asks the person" },
  { label: "[TODO] text", tone: "info", help: "proposes a card" },
  { label: "[DONE]", tone: "ok", help: "alone on its line in a turn about a card: ends that phase of the card" },
  { label: "<Share>text</Share>", tone: "info", help: "is all that the others are given; what stands beside it is for the person" },
];
