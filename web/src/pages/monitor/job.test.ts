import { describe, expect, it } from "vitest";
import { callLines, callWord, markOfCall } from "./job";

describe("calls of a job", () => {
  it("are told in words", () => {
    expect(callWord({ kind: "success", exit_code: 0 })).toBe("Succeeded");
    expect(callWord({ kind: "start", exit_code: null })).toBe("Started");
    expect(callWord({ kind: "fail", exit_code: null })).toBe("Failed");
    expect(callWord({ kind: "fail", exit_code: 3 })).toBe("Failed, exit code 3");
    expect(markOfCall({ kind: "fail" })).toBe("down");
  });
  it("come as lines to paste, with the monitor's own schedule", () => {
    const lines = callLines("https://q.test/hb/qrh_x", "30 2 * * *").map((line) => line.text);
    expect(lines[0]).toBe("curl -fsS -m 10 --retry 5 -o /dev/null https://q.test/hb/qrh_x");
    expect(lines[1]).toMatch(/^30 2 \* \* \* .*\/hb\/qrh_x\/\$\?$/);
    expect(lines[2]).toMatch(/^ExecStopPost=\/usr\/bin\/curl .*\/\$\{EXIT_STATUS\}$/);
    expect(lines[3]).toContain('--data-raw "$out" https://q.test/hb/qrh_x/$?');
  });
});
