import { useSearchParams } from "react-router";

import { FileTree, useFolder } from "@/explorer/FileTree";
import { FileViewer } from "@/explorer/FileViewer";
import { JournalTree } from "@/explorer/JournalTree";
import { MemoryViewer } from "@/explorer/MemoryViewer";
import { SearchBox } from "@/explorer/SearchBox";
import { Panes } from "@/layout/Panes";
import { Page } from "@/ui/page";
import { Empty } from "@/ui/states";

/** The project's files, its journal, its memory, and words in all of it. */
export default function ExplorerPage() {
  const [params, setParams] = useSearchParams();
  const path = params.get("path") ?? "";
  const choose = (next: string) => setParams(next === "" ? {} : { path: next });
  const below = useFolder("").isPending ? "invisible p-2" : "p-2"; // it would move as the project comes
  return (
    <Page title="Explorer">
      <Panes
        id="explorer"
        main={path === "" ? "files" : "viewer"}
        key={path === "" ? "none" : "some"}
        panes={[
          {
            id: "files",
            label: "Files",
            size: 24,
            content: (
              <div tabIndex={0} role="region" aria-label="Files and journal" className="min-h-0 grow overflow-y-auto">
                <details open className="p-2">
                  <summary className="font-semibold">Project</summary>
                  <FileTree path="" chosen={path} choose={choose} />
                </details>
                <details className={below}>
                  <summary className="font-semibold">Roles and worker contexts</summary>
                  <FileTree path=".cmux/roles" chosen={path} choose={choose} />
                </details>
                <details open className={below}>
                  <summary className="font-semibold">Journal</summary>
                  <JournalTree chosen={path} choose={choose} />
                </details>
              </div>
            ),
          },
          {
            id: "viewer",
            label: "Viewer",
            size: 51,
            least: 25,
            content: path === "" ? <MemoryViewer /> : path.endsWith("/") ? <Empty title="This is a folder" /> : <FileViewer key={path} path={path} />,
          },
          { id: "search", label: "Search", size: 25, content: <SearchBox open={choose} /> },
        ]}
      />
    </Page>
  );
}
