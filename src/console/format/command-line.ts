/** Command line equivalent to an action, ready to paste into a POSIX shell. */

import { BASE_PATH } from "../../admin-api/index.ts";
import { type Action, encoded } from "../model/action.ts";
import type { Context } from "../model/context.ts";
import type { JobRequest, Task } from "../model/dialog.ts";

type CommandEndpoint = Pick<Context, "endpointFlags">;

/** Returns the command line of an action: `gateway admin -socket PATH -d '{"reason":"…"}' PUT suspensions/provider:acme`. */
export function commandOf({ request }: Pick<Action, "request">, { endpointFlags }: CommandEndpoint): string {
  const { method, path, body, ifMatch } = request;
  const texts = ["gateway", "admin", endpointFlags];
  if (ifMatch !== undefined) texts.push("-if-match", String(ifMatch));
  if (body !== undefined) texts.push("-d", quoted(bodyWord(body)));
  if (method !== "GET") texts.push(method);
  texts.push(quoted(path.startsWith(`${BASE_PATH}/`) ? path.slice(BASE_PATH.length + 1) : path));
  return texts.filter((word) => word !== "").join(" ");
}

/** Returns one command per line, in the order of execution. */
export function commandsOfTask(task: Task, context: CommandEndpoint): readonly string[] {
  switch (task.kind) {
    case "actions":
      return task.actions.map((action) => commandOf(action, context));
    case "job":
      return [commandOfJob(task.job, context) ?? []].flat();
    case "steps":
      return task.steps.flatMap((step) => commandsOfTask(step, context));
    default:
      return task satisfies never;
  }
}

/** Returns the command line of a job; `undefined` if no command line does the same. */
function commandOfJob(job: JobRequest, { endpointFlags }: CommandEndpoint): string | undefined {
  switch (job.kind) {
    case "save_snapshot":
      return `gateway snapshot save ${endpointFlags}${job.isStale === true ? " -stale" : ""} ${quoted(job.file)}`;
    case "restore_snapshot":
      return `gateway snapshot restore ${endpointFlags} ${quoted(job.file)}`;
    case "run_command":
      return job.argv.map(quoted).join(" ");
    case "put_secret":
      return sealingCommand(job.name, job.file, { endpointFlags });
    case "write_change":
      return [
        `gateway admin ${endpointFlags} -if-match ${job.change.revision}`,
        `-d ${BODY_FILE} PUT ${quoted(`sources/${encoded(job.change.source)}`)}`,
      ].join(" ");
    case "put_document":
      return [
        `gateway admin ${endpointFlags}`,
        ...(job.revision === undefined ? [] : [`-if-match ${job.revision}`]),
        `-d ${quoted(`@${job.file}`)} PUT ${quoted(`sources/${encoded(job.source)}`)}`,
      ].join(" ");
    case "save_text":
      return undefined;
    default:
      return job satisfies never;
  }
}

/** Returns a command that passes the value through a pipe, so that it is neither an argument nor in a history. */
export const sealingCommand = (name: string, file: string, { endpointFlags }: CommandEndpoint): string =>
  `jq -Rs '{value: rtrimstr("\\n")}' ${quoted(file)} | gateway admin ${endpointFlags} -d @- PUT ${quoted(`secrets/${encoded(name)}`)}`;

/** Maximum length of a body on a command line, in UTF-16 units; longer or streamed ones belong in a file. */
const MAX_BODY_LENGTH = 16_384;
/** Placeholder for a file with the body. */
const BODY_FILE = "@FILE";

function bodyWord(body: unknown): string {
  if (typeof body === "object" && body !== null && Symbol.asyncIterator in body) return BODY_FILE;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  // Such a body cannot be an argument: a NUL would end it, and `-d` would read a file if it begins with `@`.
  return text.length > MAX_BODY_LENGTH || text.includes("\0") || text.startsWith("@") ? BODY_FILE : text;
}

/** Returns the word unchanged if no shell interprets its characters, otherwise in single quotes. POSIX.1-2017, 2.2.2. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
