// Reports, failover groups and status pages for people to look at: accepted and refused, all in, some out, too
// few left, public and drafted, with much and with little.

/** Makes them of the first monitors and of SLOs; says which pages to look at. */
export async function tellOutside(quorate, monitors, slos) {
  const post = (path, body) => quorate.api("POST", path, body);
  const gone = await post("/channels", {
    name: "customer hook",
    kind: "webhook",
    default: false,
    config: { url: "http://127.0.0.1:9/none" },
  });
  const berlin = { timezone: "Europe/Berlin" };
  const schedules = [
    {
      name: "monthly for Shop",
      customer: "Shop Example GmbH",
      slos,
      cron: "0 8 4 * *",
      channel: "mail ops",
      ...berlin,
    },
    { name: "weekly team", slos: slos.slice(1, 3), cron: "0 8 * * 1", channel: "mail ops", ...berlin },
    { name: "nightly figures for the partner portal", slos: slos.slice(0, 1), cron: "30 2 * * *", channel: gone.id },
    { name: "quarterly board", slos: slos.slice(0, 1), cron: "0 8 4 1,4,7,10 *", channel: "mail ops", enabled: false },
  ];
  const made = [];
  for (const one of schedules) made.push(await post("/reports/schedules", one));
  for (const one of made.slice(0, 3)) await post(`/reports/schedules/${one.id}/send`);

  const member = (name, address, monitor, more = {}) => ({ name, address, monitor, ...more });
  const [a, b, c, d] = monitors;
  const group = async (body) => (await post("/failover", body)).group.id;
  const shop = await group({
    name: "shop",
    members: [member("fra", "192.0.2.10", a), member("iad", "192.0.2.20", c), member("sin", "sin.shop.example", d)],
    return_after_s: 60,
  });
  await group({ name: "pay", members: [member("a", "203.0.113.10", a), member("b", "203.0.113.20", b)] });
  const edge = await group({
    name: "edge",
    mode: "weighted",
    min_members: 4,
    members: Array.from({ length: 12 }, (_, i) => member(`edge-${i}`, `198.51.100.${i}`, c, { weight: i + 1 })),
  });
  await quorate.api("PUT", `/failover/${edge}/members/edge-3/override`, {
    serve: false,
    reason: "moving it to the new rack",
    until: new Date(Date.now() + 4 * 3_600_000).toISOString(),
  });

  const page = await post("/status-pages", {
    name: "Shop Example",
    slug: "shop",
    headline: "Is the shop working?",
    published: true,
    ...berlin,
    groups: [
      {
        name: "Sales",
        parts: [
          { name: "Checkout", description: "Paying with card or invoice", monitor: a },
          { name: "Search", slo: slos[1] },
        ],
      },
      { name: "", parts: [{ name: "Accounts", monitor: d }] },
    ],
    links: [{ text: "Contact us", url: "https://shop.example/contact" }],
  });
  const [checkout, search] = page.groups[0].parts.map((part) => part.id);
  const posts = `/status-pages/${page.id}/posts`;
  const open = await post(posts, {
    title: "Paying fails for most people",
    impact: "major",
    parts: [checkout],
    update: { text: "We see it and are looking for the cause." },
  });
  await post(`${posts}/${open.id}/updates`, {
    status: "identified",
    text: "One of two front addresses lost its servers.",
  });
  const slow = await post(posts, {
    title: "Search was slow",
    parts: [search],
    update: { text: "Searching takes long." },
  });
  await post(`${posts}/${slow.id}/updates`, { status: "resolved", text: "It is quick again." });
  const long = await post("/status-pages", {
    name: "Everything, for partners and resellers in all countries",
    slug: "everything",
    groups: Array.from({ length: 6 }, (_, g) => ({
      name: `Region ${g + 1}`,
      parts: Array.from({ length: 10 }, (_, n) => ({ name: `Service ${g + 1}-${n + 1}`, monitor: monitors[n % 4] })),
    })),
  });
  return {
    "report-edit": `/reports/schedules/${made[0].id}`,
    "failover-group": `/failover-groups/${shop}`,
    "failover-many": `/failover-groups/${edge}`,
    "failover-edit": `/failover-groups/${shop}/edit`,
    "status-page": `/status-pages/${page.id}`,
    "status-page-edit": `/status-pages/${page.id}/edit`,
    "status-page-long": `/status-pages/${long.id}/edit`,
    "status-page-write": `/status-pages/${page.id}?write=1`,
  };
}
