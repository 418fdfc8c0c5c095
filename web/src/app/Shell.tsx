import { Menu as MenuIcon, Moon, Sun, SunMoon } from "lucide-react";
import { Suspense, useEffect, useRef, useState } from "react";
import { Route, Routes, useLocation } from "react-router";

import { AwayBar } from "@/app/AwayBar";
import { Boundary } from "@/app/Boundary";
import { pages, within } from "@/app/pages";
import { usePrefs, type Theme } from "@/app/prefs";
import { Sidebar } from "@/app/Sidebar";
import { StatusBar } from "@/app/StatusBar";
import { Title } from "@/app/title";
import { HeldBar } from "@/needs/HeldBar";
import { useWaiting } from "@/needs/needs";
import { CommandCenter } from "@/palette/CommandCenter";
import { IconButton } from "@/ui/button";
import { count } from "@/ui/figures";
import { lazily } from "@/ui/lazily";
import { Empty, Loading } from "@/ui/states";
import { Beside, Page } from "@/ui/page";
import { turnPage } from "@/ui/toasts";
import { useIdle } from "@/ui/useIdle";

const Extras = lazily(() => import("@/app/Extras"));

const alone: readonly never[] = [];
const next: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const icons = { system: SunMoon, light: Sun, dark: Moon };

/** What stays when pages change: sidebar, page, status bar. */
export function Shell() {
  const [drawer, setDrawer] = useState(false);
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) {
      turnPage();
      main.current?.focus(); // who reads with a screen reader is where the new page is
    }
    first.current = false;
  }, [pathname]);
  const theme = usePrefs((p) => p.theme);
  const setTheme = usePrefs((p) => p.setTheme);
  const Icon = icons[theme];
  const idle = useIdle();
  return (
    <div className="flex h-full flex-col">
      <Title />
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-raised focus:p-2">
        Skip to the page
      </a>
      <div className="flex min-h-0 grow">
        <Sidebar open={drawer} onClose={() => setDrawer(false)} />
        <div className="flex min-w-0 grow flex-col">
          <header className="flex items-center gap-1 border-b border-line px-2 py-1 md:hidden">
            <MenuButton open={drawer} onOpen={() => setDrawer(true)} />
            <span className="grow font-semibold">cmux</span>
          </header>
          <main id="main" ref={main} tabIndex={-1} className="min-h-0 grow outline-none">
            <Boundary key={pathname}>
              <Suspense fallback={<Loading />}>
                <Routes>
                  {pages.map(({ path, label, door, page: P }) => (
                    <Route
                      key={path}
                      path={path}
                      element={
                        <Beside value={label === undefined ? alone : within(door)}>
                          <P />
                        </Beside>
                      }
                    />
                  ))}
                  <Route path="*" element={<Nowhere />} />
                </Routes>
              </Suspense>
            </Boundary>
          </main>
        </div>
      </div>
      <AwayBar />
      <HeldBar />
      <StatusBar>
        {idle && (
          <Boundary instead={null}>
            <Suspense>
              <Extras />
            </Suspense>
          </Boundary>
        )}
        <CommandCenter />
        <IconButton label={`Theme: ${theme}`} className="min-h-6" onClick={() => setTheme(next[theme])}>
          <Icon size={15} />
        </IconButton>
      </StatusBar>
    </div>
  );
}

/** Opens the menu, and says how much waits for the person. */
function MenuButton({ open, onOpen }: { open: boolean; onOpen: () => void }) {
  const total = useWaiting()?.total ?? 0;
  return (
    <IconButton label={total === 0 ? "Menu" : `Menu, ${count(total, "thing waits", "things wait")} for you`} aria-expanded={open} onClick={onOpen}>
      <MenuIcon aria-hidden size={20} />
      {total > 0 && (
        <span aria-hidden className="rounded bg-warn-soft px-1.5 font-medium text-warn tabular-nums">
          {total}
        </span>
      )}
    </IconButton>
  );
}

function Nowhere() {
  return (
    <Page title="There is no such page">
      <Empty title="There is no such page">Choose one on the left.</Empty>
    </Page>
  );
}
