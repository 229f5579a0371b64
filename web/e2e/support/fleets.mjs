// Fleets for people to look at: healthy, one instance bad, something shared bad, HAProxy with a server that
// went and came back, one whose logs broke off, one with zones of which one of two sources is silent, one of
// forty, and one that nobody has sent a line for.
import { addresses, lines } from "./lines.mjs";

const MINUTE = 60_000;
const PAST = 90 * MINUTE;

export const fleets = async (quorate) => (await quorate.api("GET", "/fleets")).items;

/** Makes them and sends their logs of the last hour and a half; says which pages to look at. */
export async function tellFleets(quorate) {
  const now = Date.now();
  const bad = now - 15 * MINUTE;
  const make = (name, more = {}) => quorate.api("POST", "/fleets", { name, ...more });
  const eight = addresses(8);
  const check = { path: "/healthz", interval_s: 2, timeout_s: 1, unhealthy: 3, healthy: 2 };
  const all = {
    healthy: [await make("search-api", { platform: { kind: "envoy" } }), { instances: addresses(9) }],
    one: [
      await make("shop-web", { expected: 8, platform: { kind: "kubernetes" }, check }),
      {
        instances: eight,
        fails: (instance, at) => (instance === eight[2] && at > bad ? 0.2 : 0.004),
        ms: (instance, at) => (instance === eight[2] && at > bad ? 40 : 80),
      },
    ],
    shared: [
      await make("pay", { platform: { kind: "alb" } }),
      { instances: addresses(6, "10.9.1"), fails: (_, at, path) => (path === "/checkout" && at > bad ? 0.6 : 0.003) },
    ],
    haproxy: [
      await make("api", { expected: 4, platform: { kind: "haproxy" }, check }),
      {
        form: "haproxy",
        instances: ["app1", "app2", "app3", "app4"],
        said: words("app2", now - 40 * MINUTE, 8_000, 150_000),
        fails: (instance, at) => {
          const since = at - (now - 40 * MINUTE);
          if (instance !== "app2" || since < 0 || since > 150_000) return 0.003;
          return since < 8_000 ? 1 : null;
        },
      },
    ],
    silent: [await make("edge-fra", { platform: { kind: "nginx" } }), { instances: addresses(4, "10.9.2"), to: bad }],
    many: [await make("tenants"), { instances: addresses(40, "10.9.3"), perMinute: 40 }],
  };
  const zones = addresses(6, "10.9.4");
  const zoned = await make("media", {
    expected: 6,
    instances: zones.map((name, i) => ({ name, addresses: [], zone: ["eu-1a", "eu-1b", "eu-1b", null][i % 4] })),
  });
  const waiting = await make("new-fleet");
  for (const [name, [fleet, how]] of Object.entries(all)) {
    const from = now - PAST;
    for (let at = from; at < (how.to ?? now); at += 30 * MINUTE) {
      const part = { ...how, from: at, to: Math.min(at + 30 * MINUTE, how.to ?? now), seed: at };
      part.said = (how.said ?? []).filter(([when]) => when >= part.from && when < part.to);
      await quorate.send(fleet.id, `lb-${name}`, lines(part));
      // Nobody goes on sending while the pictures are taken.
      if (name !== "silent") await quorate.api("PUT", `/fleets/${fleet.id}/sources/lb-${name}`, { patience_s: 900 });
    }
  }
  await tellZones(quorate, zoned.id, zones, now);
  const page = ([fleet]) => `/fleets/${fleet.id}`;
  return {
    pages: {
      waiting: page([waiting]),
      zones: page([zoned]),
      ...Object.fromEntries(Object.entries(all).map(([name, one]) => [name, page(one)])),
    },
    /** Judged nearly to the end of what was sent, or with nothing to judge. */
    isJudged: (fleet) =>
      fleet.id === waiting.id ||
      (fleet.now.judged_until &&
        Date.parse(fleet.now.judged_until) > (fleet.name === "edge-fra" ? bad : now) - 3 * MINUTE &&
        (fleet.name !== "edge-fra" || fleet.now.state === "no_data") &&
        (fleet.name !== "media" || fleet.now.unknown > 0)),
  };
}

/** Two clusters tell of three instances each; the second one falls silent, and one instance of the first is out. */
async function tellZones(quorate, fleet, instances, now) {
  const said = (at, instance, state) => ({ at_us: at * 1000, source: "kubernetes", instance, what: { state } });
  const tell = (source, events) => quorate.api("POST", `/fleets/${fleet}/events?source=${source}`, events);
  await quorate.api("PUT", `/fleets/${fleet}/sources/cluster-a`, { patience_s: 900 });
  await quorate.api("PUT", `/fleets/${fleet}/sources/cluster-b`, { patience_s: 10 });
  const first = instances.slice(0, 3);
  const second = instances.slice(3);
  const ready = (at, names) => names.map((name) => said(at, name, "ready"));
  await tell("cluster-b", [...ready(now - 50 * MINUTE, second), ...ready(now - 12 * MINUTE, second)]);
  await tell("cluster-a", [
    ...ready(now - 50 * MINUTE, first),
    said(now - 33 * MINUTE, first[1], "unready"),
    said(now - 27 * MINUTE, first[1], "ready"),
    said(now - 6 * MINUTE, first[2], "unready"),
    ...ready(now, first.slice(0, 2)),
  ]);
}

/** What HAProxy says of a server that fails, is taken out after `out` ms and is back after `back`. */
function words(server, at, out, back) {
  return [
    [
      at + 2_000,
      `Health check for server app/${server} failed, reason: Layer4 connection problem, info: "Connection refused", check duration: 0ms, status: 2/3 UP.`,
    ],
    [
      at + out,
      `Server app/${server} is DOWN, reason: Layer4 connection problem, info: "Connection refused", check duration: 0ms. 3 active and 0 backup servers left. 0 sessions active, 0 requeued, 0 remaining in queue.`,
    ],
    [
      at + back,
      `Server app/${server} is UP, reason: Layer7 check passed, code: 200, check duration: 1ms. 4 active and 0 backup servers online. 0 sessions requeued, 0 total in queue.`,
    ],
  ];
}
