/**
 * Runs an action of the console as a verb, with the same checks and texts. Prints the dialog on stderr, asks for
 * confirmation on the terminal unless `-yes` is given, and then reports which nodes have applied the change and at
 * which raft index. Only secrets go to stdout.
 */

import type { AdminAddress } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import type { Context, Data, Dialog, FieldValues, Line, Need } from "../../console/index.ts";
import { UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { appliedText } from "./applied-nodes.ts";
import { askToConfirm } from "./terminal-prompt.ts";
import type { GatewayConnection } from "./with-gateway.ts";

export type ConsoleModule = typeof import("../../console/index.ts");

export const loadConsole = (): Promise<ConsoleModule> => import("../../console/index.ts");

interface Change {
  /** Name of the verb for messages, such as `suspend`. */
  readonly verb: string;
  readonly dialog: Dialog;
  readonly values: FieldValues;
  readonly context: Context;
  /** How the change is confirmed: `ask` on the terminal, `yes` if already given, `none` if not needed. */
  readonly consent: "ask" | "yes" | "none";
  /** Lines below the text of the dialog, such as the changes that a document makes. */
  readonly page?: readonly Line[];
  /** Document that the dialog's `put_document` writes. */
  readonly document?: string;
}

/**
 * Reads the lists that an action needs, as the console does. Throws the error if the gateway cannot be reached or
 * refuses the caller.
 */
export async function contextOf(
  { client, address }: GatewayConnection,
  needs: readonly Need[],
  io: Io,
  console: ConsoleModule,
): Promise<Context> {
  // This call fails if the gateway is unreachable or the sign-in is missing, unlike a list that a policy merely hides.
  await client.call("get_whoami", {}, { signal: io.signal });
  const data = await console.readOnce(needs, { client, endpoint: address, signal: io.signal, now: () => io.now() });
  return contextWith(data, address, io);
}

function contextWith(data: Data, address: AdminAddress, io: Io): Context {
  return {
    data,
    now: io.now(),
    subject: undefined,
    isReadOnly: false,
    isAscii: false,
    endpointFlags: address.kind === "socket" ? `-socket ${address.path}` : `-url ${address.url}`,
    tail: undefined,
    verification: undefined,
  };
}

export async function runChange(
  change: Change,
  gateway: GatewayConnection,
  io: Io,
  console: ConsoleModule,
): Promise<ExitStatus> {
  const { verb, dialog, context, consent } = change;
  const values = withDefaults(dialog, change.values);
  for (const field of dialog.fields) {
    const problem = field.kind === "text" ? field.validate?.(values[field.id] ?? "") : undefined;
    if (problem !== undefined) throw new UsageError(`${field.label.toLowerCase()}: ${problem}`);
  }
  const problem = dialog.blockedReason?.(values, context);
  if (problem !== undefined) {
    io.stderr.write(`gateway ${verb}: ${problem}\n`);
    return 1;
  }
  if (consent !== "none") {
    for (const text of dialogText(dialog, values, context, console)) io.stderr.write(text);
    for (const text of change.page ?? []) io.stderr.write(`${console.textOfLine(text)}\n`);
    if (consent === "ask" && !(await askForConfirmation(dialog, values, io))) {
      io.stderr.write("Nothing was changed.\n");
      return 1;
    }
  }
  const task = console.runTask(dialog.task(values, context), {
    client: gateway.client,
    signal: io.signal,
    unsettled: new Map(),
    async job(request) {
      if (request.kind !== "put_document" || change.document === undefined)
        throw new Error("this change is only possible in the console");
      return await console.putDocument(gateway.client, request, change.document, io.signal);
    },
    onProgress: (progress) => io.stderr.write(`${progress}\n`),
    secretIn: async (text) => (await import("../../server/detectors/index.ts")).secretIn(text),
  });
  const { message, secret } = await task.catch((error: unknown) => {
    if (console.hasUnknownOutcome(error)) io.stderr.write(`${unknownOutcomeText(verb)}\n`);
    throw error;
  });
  if (secret !== undefined) io.stdout.write(`${secret}\n`);
  io.stderr.write(`${message}\n`);
  io.stderr.write(`${await appliedText(gateway, io.signal)}\n`);
  return 0;
}

/** Verbs that show whether a change is in force, by the first word of the verb that made it. */
const CHECKS: Readonly<Record<string, string>> = {
  suspend: "gateway get suspensions",
  lift: "gateway get suspensions",
  ack: "gateway get acknowledgements",
  unack: "gateway get acknowledgements",
  keys: "gateway get keys",
  secrets: "gateway secrets list",
  config: "gateway config history",
};

function unknownOutcomeText(verb: string): string {
  const check = CHECKS[verb.split(" ")[0] ?? ""] ?? "gateway status";
  return `gateway ${verb}: no answer to the change, which may be in force: '${check}' shows whether it is`;
}

function withDefaults({ fields }: Dialog, values: FieldValues): FieldValues {
  return { ...Object.fromEntries(fields.map(({ id, initial }) => [id, initial])), ...values };
}

/** Returns the title and the labelled lines of the dialog as a block of text. */
function dialogText(dialog: Dialog, values: FieldValues, context: Context, console: ConsoleModule): readonly string[] {
  const lines = dialog.lines(values, context);
  const width = Math.max(0, ...lines.map(([label]) => label.length)) + 2;
  return [
    `${dialog.title}\n`,
    ...lines.map(([label, text]) => `  ${label.padEnd(width)}${console.textOfLine(text)}\n`),
  ];
}

async function askForConfirmation({ confirm }: Dialog, values: FieldValues, io: Io): Promise<boolean> {
  const button = `${confirm.button.charAt(0).toUpperCase()}${confirm.button.slice(1)}`;
  if (confirm.kind === "yes") {
    const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim());
    return await askToConfirm(
      { prompt: `${button}? [y/N] `, isYes, mismatch: "The answer was neither `y` nor `n`." },
      io,
    );
  }
  const expected = confirm.expected(values);
  const prompt = `${button}? To confirm, ${confirm.label} (${escapeControls(expected)}): `;
  const mismatch = `The answer was not \`${escapeControls(expected)}\`.`;
  return await askToConfirm({ prompt, isYes: (answer) => answer.trim() === expected, mismatch }, io);
}
