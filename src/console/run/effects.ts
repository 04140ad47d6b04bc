/** Runs effects and reports their results. Running work has the id of its effect; `cancel` or the end of the console ends it. */

import { AdminError, paramOf, type QueryResult } from "../../admin-api/index.ts";
import { anySignal, escapeControls } from "../../base/index.ts";
import type { JobRequest } from "../model/dialog.ts";
import type { ConsoleEndpoint, ConsolePorts } from "../model/ports.ts";
import type { Effect, Event, StorageUpdate } from "../model/state.ts";
import type { Sweep } from "../model/sweep.ts";
import type { LocalJob, SaveText } from "../model/view.ts";
import type { Watch } from "../watch/watch.ts";
import { followChange, type Visibility } from "./change-visibility.ts";
import { type Drafts, editDocument } from "./edit-document.ts";
import { failureText, hasUnknownOutcome } from "./failure-text.ts";
import { loadPage } from "./load-page.ts";
import { rehearse } from "./run-rehearsal.ts";
import { runSweep } from "./run-sweep.ts";
import { runTask } from "./run-task.ts";
import { putDocument, putSecret, storedDocument, writeChange } from "./write-document.ts";

/** Time limit of a query in milliseconds; longer than the gateway's own. */
const QUERY_LIMIT_MS = 120_000;

/** Maximum number of members named as not having applied a change. */
const MAX_NAMED = 5;

interface EffectsOptions {
  readonly ports: ConsolePorts;
  readonly watch: Watch;
  readonly endpoints: readonly ConsoleEndpoint[];
  readonly signal: AbortSignal;
  now(): number;
  dispatch(event: Event): void;
  /** Copies a text to the terminal's clipboard; returns `false` if it is too long. */
  copy(text: string): boolean;
  /** Returns the text to store, from the stored text and an addition. */
  withRemembered(kept: string, what: StorageUpdate): string;
  redraw(): void;
  /** Gives the terminal to a local program while `work` runs. */
  runWithoutTerminal<T>(work: () => Promise<T>): Promise<T>;
  stopProcess(): void;
  quit(): void;
  switchTo?(context: string): void;
}

interface Effects {
  run(effect: Effect): void;
  /** Resolves once pending text is stored. */
  close(): Promise<void>;
}

export function createEffects(options: EffectsOptions): Effects {
  const { ports, watch, endpoints, dispatch } = options;
  const running = new Map<number, AbortController>();
  const unsettled = new Map<string, string>();
  const drafts: Drafts = new Map();
  let remembered: Promise<void> = Promise.resolve();

  /** Runs work under an id. Never rejects: errors go to `onFailure`. */
  async function runWithId(
    id: number,
    work: (signal: AbortSignal) => Promise<void>,
    onFailure: (error: unknown) => void,
  ): Promise<void> {
    const stop = new AbortController();
    running.set(id, stop);
    try {
      await work(anySignal([options.signal, stop.signal]));
    } catch (error) {
      if (!options.signal.aborted) onFailure(error);
    } finally {
      running.delete(id);
    }
  }

  const endpoint = () => watch.link().endpoint.endpoint;
  const flash = (message: string, tone: "plain" | "warn" | "fail" = "plain"): void =>
    dispatch({ kind: "flash", flash: { message, tone } });

  async function job(request: JobRequest, signal: AbortSignal, onProgress: (text: string) => void): Promise<string> {
    switch (request.kind) {
      case "save_snapshot":
        return await ports.saveSnapshot(endpoint(), request.file, {
          isStale: request.isStale === true,
          signal,
          onProgress,
        });
      case "save_text":
        return (await saveText(request, signal)).message;
      case "restore_snapshot":
        return await ports.restoreSnapshot(endpoint(), request.file, { signal, onProgress });
      case "run_command": {
        onProgress("running");
        const { message, lines } = await ports.runCommand(request.argv, endpoint(), signal);
        dispatch({ kind: "output", title: `${request.name}: ${message}`, lines });
        return `${request.name}: ${message}`;
      }
      case "put_secret":
        return await putSecret(watch.client(), request, await ports.readDocument(request.file, signal), signal);
      case "write_change":
        onProgress("writing");
        return await writeChange(watch.client(), request, ports.documents, signal);
      case "put_document":
        return await putDocument(watch.client(), request, await ports.readDocument(request.file, signal), signal);
      default:
        return request satisfies never;
    }
  }

  async function saveText({ file, text, what, replaces }: SaveText, signal: AbortSignal) {
    const { kind, path } = await ports.saveText(file, text, { signal, replaces: replaces === true });
    return { kind, path, message: `saved ${what} to ${escapeControls(path)}` };
  }

  /** Saves a text, and asks before it replaces a file. */
  async function saveWithConfirmation(work: SaveText, signal: AbortSignal): Promise<void> {
    const { kind, message, path } = await saveText(work, signal);
    if (kind === "exists") dispatch({ kind: "file_exists", job: work, path });
    else flash(message);
  }

  async function task({ id, task }: Extract<Effect, { kind: "task" }>, signal: AbortSignal): Promise<void> {
    const onProgress = (message: string): void => dispatch({ kind: "task_progress", id, message });
    const client = watch.client();
    const outcome = await runTask(task, {
      client,
      signal,
      unsettled,
      secretIn: ports.secretIn,
      job: (request, progress) => job(request, signal, progress),
      onProgress,
    });
    dispatch({ kind: "task_done", id, ...outcome });
    if (task.kind === "job" && (task.job.kind === "run_command" || task.job.kind === "save_text")) return;
    const { endpoint: used } = watch.link();
    const others = endpoints.filter((other) => other !== used);
    const report = ({ index, on, members }: Visibility, more = ""): void => {
      const text = `${outcome.message} (index ${index} on ${on.length}/${members.length} nodes${more})`;
      dispatch({ kind: "task_visible", task: outcome.message, message: text });
    };
    const seen = await followChange(client, others, report, options.signal).catch(() => undefined);
    const missing = seen?.members.filter((id) => !seen.on.includes(id)) ?? [];
    if (seen !== undefined && missing.length > 0) {
      const named = missing.slice(0, MAX_NAMED).map(escapeControls).join(", ");
      report(seen, `; not yet visible on ${named}${missing.length > MAX_NAMED ? " and others" : ""}`);
    }
  }

  async function runLocalJob(id: number, work: LocalJob, signal: AbortSignal): Promise<void> {
    switch (work.kind) {
      case "verify_audit": {
        const { file } = work;
        const running = (text: string): void =>
          dispatch({ kind: "verification", verification: { file, state: { kind: "running", message: text } } });
        running("reading");
        try {
          const report = await ports.verifyAudit(file, { signal, onProgress: running });
          dispatch({ kind: "verification", verification: { file, state: { kind: "done", report } } });
        } catch (error) {
          const message = failureText(error, endpoint());
          dispatch({ kind: "verification", verification: { file, state: { kind: "failed", message } } });
        }
        return;
      }
      case "sweep": {
        const { argumentText } = work;
        const report = (sweep: Sweep): void => dispatch({ kind: "sweep", sweep });
        const means = { client: watch.client(), ports, signal, report };
        return await runSweep({ argumentText, id }, { ...means, wordsOf: (error) => failureText(error, endpoint()) });
      }
      case "save_text":
        return await saveWithConfirmation(work, signal);
      case "save_document": {
        const { source, file } = work;
        const text = await storedDocument(watch.client(), work, signal);
        return await saveWithConfirmation({ kind: "save_text", file, text, what: source }, signal);
      }
      case "edit_document": {
        const change = await editDocument(work, {
          client: watch.client(),
          ports,
          drafts,
          runWithoutTerminal: options.runWithoutTerminal,
          signal,
        });
        return change === undefined
          ? flash("the text was not changed, so nothing is written")
          : dispatch({ kind: "edited", dialog: work.ask(change) });
      }
      case "save_snapshot":
        return flash(await job(work, signal, (text) => flash(text)));
      default:
        return work satisfies never;
    }
  }

  async function query(asked: Extract<Effect, { kind: "query" }>, signal: AbortSignal): Promise<void> {
    const { id, sql, params } = asked;
    const startedAt = options.now();
    const values = params.map(paramOf);
    const body = values.length === 0 ? { sql } : { sql, params: values };
    const limits = { signal, timeLimitMs: QUERY_LIMIT_MS };
    const client = watch.client();
    const done = (result: QueryResult, isOfOneNode: boolean): void => {
      const tookMs = options.now() - startedAt;
      dispatch({ kind: "query_done", id, result, tookMs, ...(isOfOneNode && { isOfOneNode }) });
    };
    if (asked.isOfOneNode !== true) {
      try {
        return done(await client.call("run_query", { body, query: { nodes: "all" } }, limits), false);
      } catch (error) {
        // An older node refuses the parameter.
        if (!(error instanceof AdminError) || !error.message.startsWith("The query parameter `nodes`")) throw error;
      }
    }
    done(await client.call("run_query", { body }, limits), true);
  }

  function remember({ what }: Extract<Effect, { kind: "remember" }>): void {
    const saveWithConfirmation = ports.memory.save(what.name, (kept) => options.withRemembered(kept, what));
    remembered = remembered.then(() => saveWithConfirmation);
  }

  function run(effect: Effect): void {
    switch (effect.kind) {
      case "task":
        void runWithId(
          effect.id,
          (signal) => task(effect, signal),
          (error) => {
            const text = failureText(error, endpoint());
            const retryHint = hasUnknownOutcome(error)
              ? "; the change may have been made anyway: y sends it again, and it is applied at most once"
              : "";
            dispatch({ kind: "task_failed", id: effect.id, message: text + retryHint });
          },
        );
        return;
      case "load":
        void runWithId(
          effect.id,
          async (signal) => {
            const { request } = effect;
            const client = watch.client();
            const lines =
              request.kind === "explanation"
                ? await ports.explainRequest(client, request.id, signal)
                : await loadPage(request, { client, ports, signal });
            dispatch({ kind: "page_loaded", id: effect.id, lines });
          },
          (error) => {
            const lines = [[{ text: failureText(error, endpoint()), tone: "fail" as const }]];
            dispatch({ kind: "page_loaded", id: effect.id, lines });
          },
        );
        return;
      case "rehearse":
        void runWithId(
          effect.id,
          async (signal) => {
            const means = {
              client: watch.client(),
              ports,
              signal,
              wordsOf: (error: unknown) => failureText(error, endpoint()),
            };
            dispatch({ kind: "rehearsed", id: effect.id, outcome: await rehearse(effect.request, means) });
          },
          // An error only means that the rehearsal was canceled, because the dialog was closed or its document changed.
          () => undefined,
        );
        return;
      case "job":
        void runWithId(
          effect.id,
          (signal) => runLocalJob(effect.id, effect.job, signal),
          (error) => flash(failureText(error, endpoint()), "fail"),
        );
        return;
      case "query":
        void runWithId(
          effect.id,
          (signal) => query(effect, signal),
          (error) => dispatch({ kind: "query_failed", id: effect.id, message: failureText(error, endpoint()) }),
        );
        return;
      case "cancel":
        running.get(effect.id)?.abort();
        return;
      case "remember":
        remember(effect);
        return;
      case "copy":
        if (options.copy(effect.text)) flash("copied, if the terminal supports it (OSC 52)");
        else flash("too long for the terminal's clipboard", "warn");
        return;
      case "complete":
        void runWithId(
          effect.id,
          async (signal) => {
            const { text } = effect;
            dispatch({ kind: "completed", text, found: await ports.completePath(text, signal) });
          },
          (error) => flash(failureText(error, endpoint()), "warn"),
        );
        return;
      case "stop_reading":
        watch.stop(effect.need);
        return;
      case "refresh":
        watch.refresh();
        options.redraw();
        return;
      case "redraw":
        options.redraw();
        return;
      case "next_endpoint":
        watch.nextEndpoint();
        return;
      case "context":
        options.switchTo?.(effect.name);
        return;
      case "stop_process":
        options.stopProcess();
        return;
      case "quit":
        options.quit();
        return;
      default:
        effect satisfies never;
    }
  }

  return {
    run,
    close: () => remembered,
  };
}
