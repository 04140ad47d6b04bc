/** Text for a view without data, or without new data: one sentence, and the next step. Source: operator console reference, B4. */

import { count } from "../format/numbers.ts";
import { shortDuration } from "../format/times.ts";
import type { Failure } from "../model/data.ts";
import type { State } from "../model/state.ts";
import { BLANK, type Line, line } from "../model/text.ts";
import type { ViewStatus } from "../store/view-status.ts";

/** Time before a missing first answer is mentioned, in milliseconds. */
const QUIET_MS = 150;

/** Returns lines that replace the body; `undefined` if the body has content. */
export function drawStatus(status: ViewStatus, { now, link }: State): readonly Line[] | undefined {
  switch (status.kind) {
    case "ok":
    case "too_small":
      return undefined;
    case "loading":
      return status.since !== undefined && now - status.since < QUIET_MS ? [] : [line("loading", "dim")];
    case "empty":
      return [line(status.sentence), line(status.next, "dim")];
    case "filtered_out":
      return [
        line(
          status.filter === ""
            ? `0 of ${count(status.total)} want attention.`
            : `0 of ${count(status.total)} match ${status.filter}${status.isNarrowed ? " and want attention" : ""}.`,
        ),
        line(status.filter === "" ? "b shows all of them." : "Esc clears the filter.", "dim"),
      ];
    case "forbidden":
      return [
        line(
          `Your policy does not permit ${status.need.id}${status.need.name === undefined ? "" : ` of ${status.need.name}`}.`,
          "fail",
        ),
        line(failureText(status.failure), "dim"),
        BLANK,
        line("Ask an administrator to permit it in the admin policy; press r to try again.", "dim"),
      ];
    case "failed":
      if (status.hasData) return undefined;
      return [line(`Could not be read: ${failureText(status.failure)}`, "fail"), BLANK, line("r tries again.", "dim")];
    case "offline":
      if (status.hasData) return undefined;
      return [
        line(`OFFLINE: ${unreachable(status.endpoint.name, failureText(status.failure))}`, "fail"),
        BLANK,
        line(
          `Next try ${remainingText(status.retryAt, now)}; r tries now${link.endpoints > 1 ? ", O tries the next gateway" : ""}.`,
          "dim",
        ),
      ];
    case "signed_out":
      if (status.hasData) return undefined;
      return [
        line(`SIGNED OUT: ${failureText(status.failure)}`, "fail"),
        BLANK,
        line("Run `gateway login`, then press r.", "dim"),
      ];
    default:
      return status satisfies never;
  }
}

/** Returns the notice for old data that stays on the screen. */
export function noticeOf(status: ViewStatus, { now, link }: State): Line | undefined {
  switch (status.kind) {
    case "failed":
      if (!status.hasData) return undefined;
      return line(
        `not read: ${failureText(status.failure)}; shown as of ${status.freshAt === undefined ? "before" : `${shortDuration(now - status.freshAt)} ago`}; r tries again`,
        "fail",
      );
    case "offline":
      if (!status.hasData) return undefined;
      return line(
        `OFFLINE since ${shortDuration(now - status.since)}: ${failureText(status.failure)}; retry ${remainingText(status.retryAt, now)}; r tries now${link.endpoints > 1 ? "; O next gateway" : ""}`,
        "fail",
      );
    case "signed_out":
      return status.hasData ? line("SIGNED OUT: run `gateway login`, then press r", "fail") : undefined;
    default:
      return undefined;
  }
}

/** Returns whether the data on the screen may be outdated. */
export function isOld(status: ViewStatus): boolean {
  return (status.kind === "failed" || status.kind === "offline" || status.kind === "signed_out") && status.hasData;
}

const remainingText = (at: number, now: number): string => `in ${shortDuration(at - now)}`;

/** Returns the message that the endpoint cannot be reached. Names the endpoint only once. */
const unreachable = (endpoint: string, text: string): string =>
  text.startsWith("cannot reach ") ? text : `${endpoint} cannot be reached: ${text}`;

/** Describes a failure: `503 busy: …` with the first line of the message. */
function failureText({ status, code, message }: Failure): string {
  const [first = ""] = message.split(/\r?\n/, 1);
  return status === 0 ? first : `${status} ${code}: ${first}`;
}
