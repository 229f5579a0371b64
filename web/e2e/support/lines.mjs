// Access logs of made-up fleets, so that pages have something to show: ingress-nginx lines, whose
// upstream fields name the instance, and HAProxy lines with its words on servers that go and come.

const ROUTES = [
  ["GET", "/product/1042", 0.4],
  ["GET", "/cart", 0.25],
  ["POST", "/checkout", 0.2],
  ["GET", "/search?q=shoes", 0.15],
];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (n, wide = 2) => String(n).padStart(wide, "0");

/** Always the same numbers for the same seed. */
function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** `30/Nov/2026:01:10:11` in UTC */
function clf(ms) {
  const d = new Date(ms);
  const time = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())}`;
  return `${two(d.getUTCDate())}/${MONTHS[d.getUTCMonth()]}/${d.getUTCFullYear()}:${time}`;
}

function route(random) {
  let left = random();
  for (const [method, path, part] of ROUTES) {
    left -= part;
    if (left <= 0) return [method, path];
  }
  return ROUTES[0];
}

const ingress = (at, seconds, method, path, status, instance) =>
  `203.0.113.7 - - [${clf(at)} +0000] "${method} ${path} HTTP/1.1" ${status} 512 "-" "curl/8" 310 ${seconds} ` +
  `[shop-web-8080] [] ${instance} 512 ${seconds} ${status} 7f3c\n`;

const haproxy = (at, ms, method, path, status, instance) =>
  `<134>1 ${new Date(at).toISOString()} lb haproxy 7 - - 203.0.113.7:42168 [${clf(at - ms)}.${two(new Date(at - ms).getUTCMilliseconds(), 3)}] ` +
  `web app/${instance} 0/0/0/${ms}/${ms} ${status} 512 - - ---- 1/1/0/0/0 0/0 "${method} ${path} HTTP/1.1"\n`;

/**
 * Lines of a fleet between two instants (ms since 1970), in order. `perMinute` is for each instance.
 * `fails(instance, at, path)` is the share of requests that fail, 0.004 unless given, and null of an instance
 * that is not asked; `ms(instance, at)` how
 * long they take; `said` holds lines of HAProxy's own as `[at, text]`.
 */
export function lines({ instances, from, to, perMinute = 90, fails, ms, form = "ingress", said = [], seed = 1 }) {
  const random = chance(seed);
  const step = 60_000 / (perMinute * instances.length);
  const waiting = [...said].sort((a, b) => a[0] - b[0]);
  let text = "";
  let turn = 0;
  for (let at = from; at < to; at += step) {
    while (waiting.length > 0 && waiting[0][0] <= at) text += own(waiting.shift());
    const instance = instances[turn++ % instances.length];
    const [method, path] = route(random);
    const share = fails ? fails(instance, at, path) : 0.004;
    if (share === null) continue;
    const status = random() < share ? 500 : 200;
    const took = Math.round((ms?.(instance, at) ?? 80) * (0.6 + 0.9 * random()));
    text +=
      form === "haproxy"
        ? haproxy(at, took, method, path, status, instance)
        : ingress(at, (took / 1000).toFixed(3), method, path, status, instance);
  }
  return text;
}

const own = ([at, text]) => `<129>1 ${new Date(at).toISOString()} lb haproxy 7 - - ${text}\n`;

/** Names such as `10.9.0.11:8080`. */
export function addresses(count, net = "10.9.0") {
  return Array.from({ length: count }, (_, i) => `${net}.${11 + i}:8080`);
}
