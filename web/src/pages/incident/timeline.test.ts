import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { timeline } from "./Parts";

const event = (no: number, at: string, sentence: string) =>
  ({ no, at, kind: "note", actor: null, sentence, data: {} }) as Schemas["IncidentEvent"];
const notice = (id: string, at: string, channel_name: string, kind: string) =>
  ({ id, created_at: at, channel_name, kind }) as Schemas["IncidentNotice"];

describe("timeline", () => {
  it("puts what was told behind what happened, channels of one moment on one line", () => {
    const entries = timeline({
      events: [event(1, "2026-03-01T12:00:00Z", "It is down."), event(2, "2026-03-01T12:05:00Z", "Ada is at it.")],
      notices: [
        notice("a", "2026-03-01T12:00:00Z", "chat", "opened"),
        notice("b", "2026-03-01T12:00:00Z", "phone", "opened"),
        notice("c", "2026-03-01T12:05:00Z", "chat", "acknowledged"),
        notice("d", "2026-03-01T13:00:00Z", "chat", "reminder"),
      ],
    });
    expect(entries.map((entry) => entry.told ?? entry.event?.sentence)).toEqual([
      "It is down.",
      "Told chat and phone: opened.",
      "Ada is at it.",
      "Told chat: acknowledged.",
      "Told chat: reminder.",
    ]);
  });
});
