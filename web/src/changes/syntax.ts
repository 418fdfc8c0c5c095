/*
 * The colors of code in a diff, line by line: what a text or a comment of several lines is, one line does not tell.
 */

export type Kind = "comment" | "string" | "number" | "keyword" | "plain";

export interface Piece {
  text: string;
  kind: Kind;
}

const slashes = ["go", "ts", "tsx", "js", "jsx", "mjs", "c", "h", "cc", "cpp", "hpp", "cs", "java", "kt", "rs", "swift", "scss", "php", "dart", "scala", "proto"];
const hashes = ["py", "sh", "bash", "yml", "yaml", "toml", "rb", "pl", "tf", "mk", "r"];
const dashes = ["sql", "lua", "hs"];

const words = new Set(
  (
    "abstract and as async await bool break case catch chan char class const continue def default defer del delete do double elif else end enum except export extends false final finally float fn for from func function go goto " +
    "if impl implements import in int interface is lambda let long loop map match mod mut new nil none None not null or package pass private protected pub public raise range return select self static string struct super switch then this throw trait true True False try type typeof undefined union unsafe use var void where while with yield fi done esac"
  ).split(" "),
);

/** What begins a comment in the files of a path; undefined: its language has no colors here. */
export function commentOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const ext = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  if (slashes.includes(ext)) {
    return "//";
  }
  if (hashes.includes(ext) || name === "Makefile" || name === "Dockerfile") {
    return "#";
  }
  return dashes.includes(ext) ? "--" : undefined;
}

const token = /"(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?|`[^`]*`?|[\p{L}_][\p{L}\p{N}_]*|\p{N}[\p{L}\p{N}_.]*|\/\/|--|#|[^]/gu;
/** A longer line is of a program, not of a person. */
const longest = 2000;

/** A line in pieces of one kind each, which make up the line. */
export function pieces(line: string, comment: string | undefined): Piece[] {
  if (comment === undefined || line.length > longest) {
    return [{ text: line, kind: "plain" }];
  }
  const all: Piece[] = [];
  const add = (text: string, kind: Kind) => {
    const last = all.at(-1);
    if (last?.kind === kind) {
      last.text += text;
    } else {
      all.push({ text, kind });
    }
  };
  for (const { 0: text, index } of line.matchAll(token)) {
    if (text === comment && (comment !== "#" || index === 0 || /\s/.test(line[index - 1] ?? ""))) {
      add(line.slice(index), "comment");
      break;
    }
    add(text, /^["'`]/.test(text) ? "string" : /^\p{N}/u.test(text) ? "number" : words.has(text) ? "keyword" : "plain");
  }
  return all;
}
