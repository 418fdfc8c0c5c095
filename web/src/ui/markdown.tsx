import { clsx } from "clsx";
import { memo, useMemo, useState, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

import { visible } from "@/changes/visible";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { rehypeSlots, restored, slotTag } from "@/ui/slots";

/** Longer texts are shown as they stand: parsing them would hold the page up. */
const mostParsed = 100_000;

const components: Components = {
  a: ({ href, children }) => <Link href={href ?? ""}>{children}</Link>,
  // An image would be a request to wherever an agent wants.
  img: ({ alt, src }) => <Link href={typeof src === "string" ? src : ""}>{alt === undefined || alt === "" ? "image" : alt}</Link>,
  pre: ({ children }) => <pre tabIndex={0} className="my-2 overflow-x-auto rounded bg-sunken p-2">{children}</pre>,
  code: ({ children, className }) => <code className={className ?? "rounded bg-sunken px-1"}>{children}</code>,
  h1: ({ children }) => <p className="mt-3 mb-1 text-title font-semibold">{children}</p>,
  h2: ({ children }) => <p className="mt-3 mb-1 text-base font-semibold">{children}</p>,
  h3: ({ children }) => <p className="mt-2 mb-1 font-semibold">{children}</p>,
  h4: ({ children }) => <p className="mt-2 mb-1 font-semibold">{children}</p>,
  h5: ({ children }) => <p className="mt-2 mb-1 font-semibold">{children}</p>,
  h6: ({ children }) => <p className="mt-2 mb-1 font-semibold">{children}</p>,
  p: ({ children }) => <p className="my-1.5">{children}</p>,
  ul: ({ children }) => <ul className="my-1.5 list-disc pl-5">{children}</ul>,
  ol: ({ children }) => <ol className="my-1.5 list-decimal pl-5">{children}</ol>,
  blockquote: ({ children }) => <blockquote className="my-2 border-l-2 border-line-strong pl-3 text-muted">{children}</blockquote>,
  table: ({ children }) => (
    <div tabIndex={0} className="my-2 overflow-x-auto">
      <table className="border-collapse">{children}</table>
    </div>
  ),
  th: ({ children }) => <th className="border border-line px-2 py-1 text-left">{children}</th>,
  td: ({ children }) => <td className="border border-line px-2 py-1">{children}</td>,
  hr: () => <hr className="my-3 border-line" />,
};

/** What is drawn in place of a slot (ui/slots.ts), and what the text has there. */
export interface Insert {
  text: string;
  node: ReactNode;
}

const none: readonly Insert[] = [];

interface MarkdownProps {
  children: string;
  lines?: boolean;
  inserts?: readonly Insert[];
}

/**
 * What agents write: markdown without HTML, without images, with links that ask, in which nothing hides. `lines` keeps
 * the line breaks of a person, who means them. `inserts` are drawn in the slots of the text.
 */
export const Markdown = memo(function Markdown({ children, lines = false, inserts = none }: MarkdownProps) {
  const text = visible(children.replace(/\r\n?/g, "\n"));
  const back = (s: string) => (inserts.length === 0 ? s : restored(s, inserts.map((i) => i.text)));
  const drawn = useMemo((): Components => {
    const Slot = (props: object) => inserts["index" in props ? Number(props.index) : -1]?.node;
    return inserts.length === 0 ? components : { ...components, [slotTag]: Slot };
  }, [inserts]);
  if (text.length > mostParsed) {
    return <pre className="whitespace-pre-wrap wrap-anywhere">{back(text)}</pre>;
  }
  return (
    <div className={clsx("min-w-0 wrap-anywhere", lines && "[&_p]:whitespace-pre-line")}>
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={inserts.length === 0 ? [] : [rehypeSlots]} components={drawn} skipHtml={false} urlTransform={back}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

/** The address that a link may lead to; undefined: it leads nowhere. */
export function outward(href: string): URL | undefined {
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return undefined; // it is relative, and an agent does not know this page
  }
  return url.protocol === "https:" || url.protocol === "http:" || url.protocol === "mailto:" ? url : undefined;
}

/** A link of an agent's: where it leads is shown before it is opened. */
function Link({ href, children }: { href: string; children: React.ReactNode }) {
  const [open, setOpen] = useState(false);
  const url = outward(href);
  if (!url) {
    return <span title={href}>{children}</span>;
  }
  return (
    <>
      <button type="button" className="inline text-left text-accent underline" onClick={() => setOpen(true)}>
        {children}
        <span aria-hidden>{" ↗"}</span>
      </button>
      <Dialog title="Open this link?" open={open} onOpenChange={setOpen}>
        <p className="mb-4">
          An agent wrote it. It leads to <code className="wrap-anywhere">{url.href}</code>
        </p>
        <div className="flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>Cancel</Button>
          <Button
            tone="accent"
            onClick={() => {
              setOpen(false);
              window.open(url, "_blank", "noopener,noreferrer");
            }}
          >
            Open in a new tab
          </Button>
        </div>
      </Dialog>
    </>
  );
}
