/**
 * Table of all keys of the console, used by the hint bar, the help screen, the README and the key handler. A letter means the
 * same in all views; each view lists which of them it offers. Source: operator console reference, B2.
 */

import { type Chord, FAVORITE_CHORDS } from "./key-event.ts";

/** Group of a verb. A `write` verb can change the gateway after confirmation; read-only mode hides and ignores it. */
type VerbGroup = "read" | "write";

interface VerbKey {
  readonly chord: Chord;
  /** Text of the hint bar, two or three words. */
  readonly label: string;
  readonly group: VerbGroup;
  /** Text of the help screen: the common part if it differs between views. */
  readonly help: string;
}

/** Verbs that a view can offer on its rows. */
export const VERBS = {
  suspend: {
    chord: "s",
    label: "suspend",
    group: "write",
    help: "suspend the provider, key or other object of the row",
  },
  lift: {
    chord: "u",
    label: "lift",
    group: "write",
    help: "lift the suspension, or undo the last change",
  },
  extend: {
    chord: "E",
    label: "extend",
    group: "write",
    help: "change the end of a suspension or acknowledgement, or the expiry of a key; edit a source in $EDITOR",
  },
  acknowledge: {
    chord: "a",
    label: "acknowledge",
    group: "write",
    help: "acknowledge an alert: fold it away, with a reason and an end",
  },
  create: { chord: "n", label: "new", group: "write", help: "create a new item of the kind that the view lists" },
  mint: { chord: "m", label: "mint", group: "write", help: "mint a virtual key, shown once" },
  rotate: {
    chord: "T",
    label: "rotate",
    group: "write",
    help: "rotate a key (its new text is shown once), or give a secret a new value",
  },
  remove: {
    chord: "X",
    label: "remove",
    group: "write",
    help: "revoke, delete or remove permanently; asks for the name",
  },
  reload: { chord: "R", label: "reload", group: "write", help: "apply the deployment document on disk to the cluster" },
  rollback: {
    chord: "B",
    label: "roll back",
    group: "write",
    help: "roll back: write an earlier revision as the newest",
  },
  prune: { chord: "P", label: "prune", group: "write", help: "prune the cluster: choose the members that stay" },
  lead: { chord: "L", label: "hand leadership", group: "write", help: "hand leadership to the member of the row" },
  save: { chord: "w", label: "save", group: "read", help: "save to a local file" },
  restore: { chord: "I", label: "restore", group: "write", help: "replace all state with that of a snapshot file" },
  preview: {
    chord: "p",
    label: "preview",
    group: "read",
    help: "preview what a document would change; writes nothing",
  },
  difference: { chord: "D", label: "difference", group: "read", help: "show the difference between two documents" },
  view: { chord: "v", label: "view", group: "read", help: "show the document as stored" },
  history: { chord: "h", label: "history", group: "read", help: "show earlier revisions" },
  errors: { chord: "e", label: "errors", group: "read", help: "show the errors or evidence of the row" },
  members: { chord: "M", label: "members", group: "read", help: "show the servers of the provider's pool" },
  requests: { chord: "l", label: "requests", group: "read", help: "show the last requests of the row" },
  xray: {
    chord: "i",
    label: "xray",
    group: "read",
    help: "show what the row depends on, as a tree with states",
  },
  follow: {
    chord: "f",
    label: "follow",
    group: "read",
    help: "go to the related rows: failover, budget or provider",
  },
  run: {
    chord: "x",
    label: "run or stop",
    group: "read",
    help: "run the local task of the view, such as a sweep; again stops it",
  },
  write: { chord: "W", label: "write", group: "write", help: "write the row into the document that defines it" },
  verify: { chord: "V", label: "verify", group: "read", help: "verify an exported audit trail" },
  guide: {
    chord: "H",
    label: "recovery guide",
    group: "read",
    help: "what to do when the majority is lost permanently",
  },
} as const satisfies Readonly<Record<string, VerbKey>>;

export type VerbId = keyof typeof VERBS;

export interface CommonKey {
  /** Chords; hints show the first. */
  readonly chords: readonly Chord[];
  readonly label: string;
  readonly help: string;
  /** True if the hint bar of every view shows the key, in this order, after the view's verbs. */
  readonly isHinted?: true;
}

/** Keys that work everywhere. */
export const COMMON = {
  view: { chords: ["1", "2", "3", "4", "5", "6", "7", "8", "9"], label: "view", help: "go to the view of that number" },
  command: {
    chords: [":"],
    label: "command",
    help: "go to a view, a key, a provider or a request id, or type a verb and a name (`suspend acme-chat`)",
    isHinted: true,
  },
  filter: {
    chords: ["/"],
    label: "filter",
    help: "filter by text or /regex/, ! before inverts; Enter keeps, Esc clears",
    isHinted: true,
  },
  help: {
    chords: ["?"],
    label: "help",
    help: "keys and actions: type to search, Up and Down choose, Enter does it; again closes them",
    isHinted: true,
  },
  back: { chords: ["esc"], label: "back", help: "one step back", isHinted: true },
  previous: { chords: ["-"], label: "previous", help: "the view before" },
  refresh: { chords: ["r", "ctrl-l", "f5"], label: "refresh", help: "read everything again and redraw the screen" },
  freeze: { chords: ["z"], label: "freeze", help: "freeze the screen; again resumes" },
  favorite: {
    chords: FAVORITE_CHORDS,
    label: "favorite",
    help: "go to the view that is kept under the function key (not F5)",
  },
  keep: { chords: ["K"], label: "keep view", help: "keep this view, with its filter and sort, under a function key" },
  door: { chords: ["O"], label: "next gateway", help: "connect to the next configured gateway" },
  quit: { chords: ["q", "ctrl-c"], label: "quit", help: "leave the console" },
  suspend_process: { chords: ["ctrl-z"], label: "to the shell", help: "stop the console; `fg` brings it back" },
} as const satisfies Readonly<Record<string, CommonKey>>;

/** Keys that work in tables and pages of text. */
export const MOVING = {
  up: { chords: ["up", "k"], label: "up", help: "one row up" },
  down: { chords: ["down", "j"], label: "down", help: "one row down" },
  page_up: { chords: ["pageup", "ctrl-u"], label: "page up", help: "a page up" },
  page_down: { chords: ["pagedown", "ctrl-d"], label: "page down", help: "a page down" },
  first: { chords: ["g", "home"], label: "first", help: "the first row" },
  last: { chords: ["G", "end"], label: "last", help: "the last row" },
  left: { chords: ["left"], label: "left", help: "scroll to the columns at the left" },
  right: { chords: ["right"], label: "right", help: "scroll to the columns at the right" },
  open: { chords: ["enter"], label: "open", help: "open the row; never changes anything" },
  describe: { chords: ["d"], label: "describe", help: "all fields of the row" },
  raw: { chords: ["J"], label: "JSON", help: "the row as the admin API gives it" },
  sort: { chords: ["S"], label: "sort", help: "sort by the column whose letter comes next; again reverses" },
  sort_next: { chords: ["shift-right"], label: "sort next", help: "sort by the next column" },
  sort_before: { chords: ["shift-left"], label: "sort before", help: "sort by the column before" },
  mark: { chords: ["space"], label: "mark", help: "mark the row and move to the next; verbs act on marked rows" },
  mark_more: {
    chords: ["shift-down", "shift-up"],
    label: "mark more",
    help: "mark this row and the next or the one before; going back removes marks",
  },
  mark_range: { chords: ["ctrl-space"], label: "mark range", help: "mark the rows from the nearest mark to here" },
  mark_all: { chords: ["*"], label: "mark all", help: "mark all rows that match the filter; again none" },
  copy: { chords: ["c"], label: "copy", help: "copy the name; in a dialog, the command line" },
  copy_row: { chords: ["C"], label: "copy row", help: "copy the row, its columns separated by tabs" },
  copy_cell: { chords: ["Y"], label: "copy cell", help: "copy the cell of the column whose letter comes next" },
  save_table: {
    chords: ["ctrl-s"],
    label: "save table",
    help: "save the rows to a .csv or .json file; a page as text",
  },
  query: { chords: ["o"], label: "query", help: "open the same rows in the query workbench" },
  wide: { chords: ["t"], label: "wide", help: "all columns, scrolled by left and right" },
  columns: { chords: ["#"], label: "columns", help: "choose the columns of the table; the choice is kept" },
  split: { chords: ["|"], label: "panes", help: "show the detail beside the table, or below it (needs 160 columns)" },
  bad: { chords: ["b"], label: "narrow", help: "only rows that want attention; again all" },
  tab: { chords: ["tab"], label: "next tab", help: "the next tab of this view" },
} as const satisfies Readonly<Record<string, CommonKey>>;

/** Keys that work in charts, besides those that work everywhere. */
export const CHARTS = {
  earlier: {
    chords: ["left"],
    label: "earlier",
    help: "one column earlier (ten seconds, or a minute): the values are those of that moment",
  },
  later: { chords: ["right"], label: "later", help: "one column later" },
  page_earlier: { chords: ["pageup"], label: "six back", help: "six columns earlier" },
  page_later: { chords: ["pagedown"], label: "six on", help: "six columns later" },
  first: { chords: ["home"], label: "oldest", help: "the oldest moment that is kept" },
  now: { chords: ["end"], label: "now", help: "back to now" },
  scale: { chords: ["t"], label: "time span", help: "charts of 15 minutes or of an hour; the choice is kept" },
  copy: { chords: ["c"], label: "copy", help: "copy the values of the moment as text" },
} as const satisfies Readonly<Record<string, CommonKey>>;

/** Keys that work in a dialog. Any other letter closes it without an effect; Enter does nothing. */
export const DIALOG = {
  confirm: { chords: ["y"], label: "yes", help: "confirm" },
  // This is a control key and not an Alt chord, because on a slow line Esc followed by Enter looks like Alt-Enter.
  confirm_now: { chords: ["ctrl-o"], label: "OK", help: "confirm from within a field" },
  leave: { chords: ["esc"], label: "leave", help: "cancel" },
  field: { chords: ["tab", "shift-tab"], label: "field", help: "the next field" },
  choose: { chords: ["left", "right"], label: "change", help: "change the value of the field" },
  toggle: { chords: ["space"], label: "toggle", help: "tick or clear the box" },
  rehearsed: { chords: ["enter"], label: "requests", help: "show the requests that the change would affect" },
  copy: { chords: ["c"], label: "copy", help: "copy the command line, or the text that is shown once" },
  scroll_down: { chords: ["pagedown"], label: "scroll", help: "scroll the dialog down" },
  scroll_up: { chords: ["pageup"], label: "scroll back", help: "scroll the dialog up" },
} as const satisfies Readonly<Record<string, CommonKey>>;

export type CommonId = keyof typeof COMMON;
export type MovingId = keyof typeof MOVING;
