/** Between cron expressions of five fields and the choices of a form: every day, on days of the week, of the month. */

const NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
/** How often, as a form offers it; `cron` is everything else. */
export type Repeat = "daily" | "weekly" | "monthly" | "cron";

export interface Choice {
  repeat: Repeat;
  /** `02:30` */
  time: string;
  /** Days of the week, Sunday 0, of `weekly`. */
  weekdays: number[];
  /** Day of the month, of `monthly`. */
  day: number;
  cron: string;
}

const number = (text: string, most: number): number | null =>
  /^\d{1,2}$/.test(text) && Number(text) <= most ? Number(text) : null;

/** `1-5`, `MON,WED` or `0` as days of the week, Sunday 0; null when it says more than that. */
function weekdaysOf(text: string): number[] | null {
  const one = (word: string): number | null => {
    const named = NAMES.indexOf(word.toUpperCase());
    if (named >= 0) return named;
    const day = number(word, 7);
    return day === null ? null : day % 7;
  };
  const all = new Set<number>();
  for (const part of text.split(",")) {
    const [from = "", to] = part.split("-");
    const first = one(from);
    const last = to === undefined ? first : to === "7" ? 7 : one(to);
    if (first === null || last === null || last < first) return null;
    for (let day = first; day <= last; day++) all.add(day % 7);
  }
  return [...all].sort((a, b) => ((a + 6) % 7) - ((b + 6) % 7));
}

const two = (n: number) => String(n).padStart(2, "0");

/** The expression that a choice stands for. */
export function cronOf(choice: Choice): string {
  if (choice.repeat === "cron") return choice.cron.trim();
  const [hour = "0", minute = "0"] = choice.time.split(":");
  const at = `${Number(minute)} ${Number(hour)}`;
  if (choice.repeat === "monthly") return `${at} ${choice.day} * *`;
  if (choice.repeat === "weekly") return `${at} * * ${[...choice.weekdays].sort((a, b) => a - b).join(",")}`;
  return `${at} * * *`;
}

/** The choice that stands for an expression. */
export function choiceOf(cron: string): Choice {
  const own: Choice = { repeat: "cron", time: "02:00", weekdays: [1], day: 1, cron };
  const [minuteField = "", hourField = "", day = "", month = "", weekday = "", ...more] = cron.trim().split(/\s+/);
  const [minute, hour] = [number(minuteField, 59), number(hourField, 23)];
  if (more.length > 0 || minute === null || hour === null || month !== "*") return own;
  const at = { ...own, time: `${two(hour)}:${two(minute)}` };
  if (day === "*" && weekday === "*") return { ...at, repeat: "daily" };
  if (day === "*") {
    const weekdays = weekdaysOf(weekday);
    return weekdays && weekdays.length > 0 ? { ...at, repeat: "weekly", weekdays } : own;
  }
  const date = number(day, 31);
  return weekday === "*" && date ? { ...at, repeat: "monthly", day: date } : own;
}
