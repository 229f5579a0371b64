(() => {
  "use strict";
  const every = 30000;
  const root = document.documentElement;
  let last = new Date();
  const place = (page) => page.getElementById("now");
  const opened = () => new Map([...document.querySelectorAll("details[id]")].map((d) => [d.id, d.open]));
  // Nothing is taken away from under somebody who is at it.
  const busy = (main) => {
    const chosen = getSelection();
    return main.contains(document.activeElement) || (!chosen.isCollapsed && main.contains(chosen.anchorNode));
  };
  const put = (page) => {
    const fresh = place(page);
    const old = place(document);
    if (!fresh || !old) return location.reload();
    const head = page.getElementById("live");
    if (head) document.getElementById("live").replaceWith(document.adoptNode(head));
    document.title = page.title;
    if (fresh.innerHTML === old.innerHTML || busy(old)) return;
    const was = opened();
    const heading = (main) => main.querySelector("h1")?.textContent ?? "";
    if (heading(fresh) !== heading(old)) document.getElementById("said").textContent = heading(fresh);
    old.replaceWith(document.adoptNode(fresh));
    for (const d of document.querySelectorAll("details[id]")) if (was.has(d.id)) d.open = was.get(d.id);
  };
  const look = async () => {
    try {
      const answer = await fetch(location.href.split("#")[0], { cache: "no-cache" });
      if (answer.status === 404) return location.reload();
      if (!answer.ok) throw new Error(answer.status);
      put(new DOMParser().parseFromString(await answer.text(), "text/html"));
      root.classList.remove("late");
      last = new Date();
    } catch {
      root.classList.add("late");
      const live = document.getElementById("live");
      if (live) live.textContent = "Not live since " + last.toTimeString().slice(0, 5) + ", trying again";
    }
  };
  const tick = async () => {
    if (!document.hidden) await look();
    setTimeout(tick, every);
  };
  setTimeout(tick, every);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && Date.now() - last.getTime() > every) look();
  });
})();
