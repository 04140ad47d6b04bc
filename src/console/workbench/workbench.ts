/** How the workbench begins, and what a step of it comes to. */

import type { QueryTables } from "../../admin-api/index.ts";
import type { Effect, Flash, WorkbenchState } from "../model/state.ts";

export const EMPTY_WORKBENCH: WorkbenchState = {
  edit: { text: "", at: 0 },
  isEditing: true,
  params: [],
  isEditingParams: false,
  isOfOneNode: false,
  history: [],
  recalled: undefined,
  draft: "",
  statements: new Map(),
  completion: undefined,
  run: { kind: "none" },
  result: { row: 0, offset: 0, column: 0, isJson: false },
};

/** What a step may look at beside the workbench itself. */
export interface WorkbenchFacts {
  /** Those that may be queried; none while they are not known. */
  readonly tables: QueryTables["items"];
  /** Node that the console is connected to, and the number of members; `undefined` while they are not known. */
  readonly nodes: { readonly own: string; readonly members: number } | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Free for what is begun. */
  readonly nextId: number;
  /** Of the body, as `drawWorkbench` gets it. */
  readonly size: { readonly columns: number; readonly rows: number };
}

export interface WorkbenchStep {
  readonly workbench: WorkbenchState;
  readonly effects: readonly Effect[];
  /** False: the event is nothing to the workbench, and the console's own keys may have it. */
  readonly isTaken: boolean;
  readonly flash?: Omit<Flash, "at">;
  /** How many ids from `nextId` on are no longer free. */
  readonly usedIds: number;
}

export const taken = (workbench: WorkbenchState, effects: readonly Effect[] = [], usedIds = 0): WorkbenchStep => ({
  workbench,
  effects,
  isTaken: true,
  usedIds,
});

export const untaken = (workbench: WorkbenchState): WorkbenchStep => ({
  workbench,
  effects: [],
  isTaken: false,
  usedIds: 0,
});

export const saying = (step: WorkbenchStep, words: string, tone: Flash["tone"] = "plain"): WorkbenchStep => ({
  ...step,
  flash: { words, tone },
});
