export interface Piece {
  kind: "text" | "mention" | "agree" | "handoff" | "status" | "code";
  text: string;
  name?: string;
  mark?: string;
  words?: string;
  alone?: boolean;
}

export interface Message {
  n: number;
  at: string;
  by: string;
  text: string;
  aside: string;
  to: string;
  re: number;
  key: string;
  turn: string;
  round: number;
  wakes: string[];
  pieces: Piece[];
  aside_pieces: Piece[];
}

export interface Line {
  n: number;
  at: string;
  kind: string;
  name?: string;
  agent?: string;
  role?: string;
  guest?: boolean;
  by?: string;
  round?: number;
  state?: string;
  why?: string;
  turn?: string;
  turns?: string[];
  member?: string;
  message?: number;
  estimate?: number;
  how?: string;
  said?: number;
  used?: number;
  do?: string;
  names?: string[];
  count?: number;
}
