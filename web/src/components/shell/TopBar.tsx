import { Menu, useMantineColorScheme } from "@mantine/core";
import type { ReactNode } from "react";
import { Link, useNavigate } from "react-router";
import { useMe, useSignOut } from "../../api/session";
import { setKeys, useKeysOn } from "../../lib/keys";
import { useLive } from "../../lib/live";
import { useNow } from "../../lib/ticker";
import { clock, utc, zoneLabel } from "../../lib/time";
import { StateMark } from "../StateMark";
import { openPalette } from "./Palette";

export function TopBar({ children }: { children: ReactNode }) {
  return (
    <section className="top" aria-label="Top bar">
      <nav className="crumbs" aria-label="You are here">
        {children}
      </nav>
      <button type="button" className="find" onClick={openPalette}>
        <span>Find or do…</span>
        <kbd>Ctrl K</kbd>
      </button>
      <LiveClock />
      <AccountMenu />
    </section>
  );
}

/** Whether what is shown follows events; the viewer's clock and zone, named once per view. */
function LiveClock() {
  const now = useNow();
  const live = useLive();
  if (!live.live && live.since !== null)
    return (
      <div className="live" role="status">
        <StateMark state="unknown" />
        Not live since {clock(live.since)}, trying again
      </div>
    );
  return (
    <div className="live" title={utc(now)}>
      <StateMark state={live.live ? "up" : "pending"} />
      <span>
        {live.live ? "Live" : "Connecting"} · {clock(now)}
        <span className="zone"> · {zoneLabel(now)}</span>
      </span>
    </div>
  );
}

function AccountMenu() {
  const me = useMe();
  const signOut = useSignOut();
  const navigate = useNavigate();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const keys = useKeysOn();
  if (!me) return null;
  const who = me.user?.email ?? me.name;
  const initials = (me.user?.name || who).slice(0, 2).toLowerCase();
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <button type="button" className="button compact" aria-label={`Account: ${who}`}>
          {initials}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {who}, {me.role}
        </Menu.Label>
        <Menu.Item component={Link} to="/account">
          Password and sessions
        </Menu.Item>
        <Menu.Divider />
        {(["auto", "light", "dark"] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            role="menuitemradio"
            aria-checked={colorScheme === scheme}
            rightSection={colorScheme === scheme ? "✓" : undefined}
            onClick={() => setColorScheme(scheme)}
          >
            {scheme === "auto" ? "As the system" : scheme === "light" ? "Light" : "Dark"}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item
          role="menuitemcheckbox"
          aria-checked={keys}
          rightSection={keys ? "✓" : undefined}
          onClick={() => setKeys(!keys)}
        >
          Single-letter keys
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => signOut.mutate(undefined, { onSettled: () => navigate("/sign-in") })}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
