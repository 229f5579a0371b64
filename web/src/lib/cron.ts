/** Cron expressions of five fields, in words. What has no plain words gives null; the server decides what is valid. */

import { list, NBSP } from "./format";

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const ORDER = ["first", "second", "third", "fourth", "fifth"];

const nicknames: Record<string, string> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

/** `on the 1st of every month at 08:00`, `every Monday at 08:00`; null when it has no plain words. */
export function cronWords(text: string): string | null {
  const plain = nicknames[text.trim().toLowerCase()] ?? text;
  const fields = plain.trim().split(/\s+/);
  if (fields.length !== 5) return null;
  const [minute, hour, dayOfMonth, month, weekday] = fields as [string, string, string, string, string];
  const at = timeWords(minute, hour);
  const on = dayWords(dayOfMonth, month, weekday);
  if (at === null || on === null) return null;
  // "every 15 min" needs no "every day" before it.
  if (at.startsWith("every")) return on === "every day" ? at : `${on}, ${at}`;
  return `${on} ${at}`;
}

function timeWords(minute: string, hour: string): string | null {
  const step = /^\*\/(\d+)$/.exec(minute);
  if (hour === "*") {
    if (minute === "*") return "every minute";
    if (step) return `every ${step[1]}${NBSP}min`;
    const minutes = values(minute, 0, 59);
    return minutes && `every hour at ${list(minutes.map((m) => `:${two(m)}`))}`;
  }
  const minutes = values(minute, 0, 59);
  const hours = values(hour, 0, 23);
  if (!minutes || !hours || minutes.length * hours.length > 6) return null;
  return `at ${list(hours.flatMap((h) => minutes.map((m) => `${two(h)}:${two(m)}`)))}`;
}

function dayWords(dayOfMonth: string, month: string, weekday: string): string | null {
  const months = isAny(month) ? [] : values(month, 1, 12, MONTHS);
  if (!months) return null;
  const ofMonths = months.length === 0 ? "every month" : list(months.map((m) => MONTHS[m - 1] ?? ""));
  const dates = isAny(dayOfMonth) ? null : dateWords(dayOfMonth);
  const days = isAny(weekday) ? null : weekdayWords(weekday, ofMonths);
  if (dates === undefined || days === undefined) return null;
  const onDates = dates === null ? null : `on the ${dates} of ${ofMonths}`;
  // With both given it comes on either.
  if (onDates !== null && days !== null) return `${onDates} and ${days}`;
  if (onDates !== null) return onDates;
  if (days !== null) return days.includes(" of ") || months.length === 0 ? days : `${days} in ${ofMonths}`;
  return months.length === 0 ? "every day" : `every day in ${ofMonths}`;
}

/** `1st`, `1st and 15th`, `last day`; undefined when it has no words. */
function dateWords(field: string): string | undefined {
  if (field.toUpperCase() === "L") return "last day";
  const dates = values(field, 1, 31);
  return dates ? list(dates.map(ordinal)) : undefined;
}

function weekdayWords(field: string, ofMonths: string): string | undefined {
  const nth = /^(\w+)#([1-5])$/.exec(field);
  const last = /^(\w+)L$/i.exec(field);
  if (nth || last) {
    const [day] = values((nth ?? last)?.[1] ?? "", 0, 7, DAYS, 0) ?? [];
    if (day === undefined) return undefined;
    return `on the ${nth ? ORDER[Number(nth[2]) - 1] : "last"} ${DAYS[day % 7]} of ${ofMonths}`;
  }
  const days = values(field, 0, 7, DAYS, 0);
  if (!days) return undefined;
  const known = [...new Set(days.map((day) => day % 7))];
  const [first, end] = [known[0] ?? 0, known[known.length - 1] ?? 0];
  if (known.length === 7) return "every day";
  if (known.length > 2 && end - first === known.length - 1) return `${DAYS[first]} to ${DAYS[end]}`;
  return `every ${list(known.map((day) => DAYS[day] ?? ""))}`;
}

const isAny = (field: string) => field === "*" || field === "?";
const two = (n: number) => String(n).padStart(2, "0");

/** `1st`, `22nd`, `13th` */
export function ordinal(n: number): string {
  const teen = n % 100 >= 11 && n % 100 <= 13;
  const end = teen ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th");
  return `${n}${end}`;
}

/** Numbers of a field: `1`, `1,15`, `1-5`, `1/3`, `MON`; null when it is something else or out of its bounds. */
function values(field: string, least: number, most: number, names?: readonly string[], firstName = 1): number[] | null {
  const all = new Set<number>();
  const number = (word: string): number => {
    if (/^\d+$/.test(word)) return Number(word);
    const at = names?.findIndex((name) => name.slice(0, 3).toLowerCase() === word.toLowerCase()) ?? -1;
    return at < 0 ? Number.NaN : at + firstName;
  };
  for (const part of field.split(",")) {
    const shape = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(part);
    if (!shape) return null;
    const [, start = "", end, step] = shape;
    const from = start === "*" ? least : number(start);
    const to = end !== undefined ? number(end) : start === "*" || step !== undefined ? most : from;
    const by = step === undefined ? 1 : Number(step);
    if (!(from >= least && to <= most && from <= to && by >= 1)) return null;
    for (let n = from; n <= to; n += by) all.add(n);
  }
  return [...all].sort((a, b) => a - b);
}
