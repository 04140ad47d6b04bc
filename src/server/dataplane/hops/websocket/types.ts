/** What passes between a tunnel and those who watch, inspect and end it. */

export type SideName = "client" | "upstream";

export interface TunnelObserver {
  /** Before the message is passed on. `data` belongs to the tunnel: read it here, keep or change nothing of it. */
  message(direction: SideName, data: Buffer, isBinary: boolean): void;
}

/** Why the gateway ends a session, as the reason of the abort of its signal. */
export interface TunnelClosing {
  readonly kind: "tunnel_closing";
  /** 1000 to 1014 but 1004 to 1006, or 3000 to 4999. */
  readonly code: number;
  /** At most 123 bytes of UTF-8. */
  readonly reason: string;
}

export interface TunnelAccount {
  hold(bytes: number): void;
  release(bytes: number): void;
}

export interface Frame {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

/** What becomes of a message. */
export type Passing =
  /** These go on in its place. */
  | { readonly kind: "passes"; readonly frames: readonly Frame[] }
  /** Nothing goes on any more. `notice`: told the client before it is closed. */
  | { readonly kind: "refused"; readonly closing: TunnelClosing; readonly notice: string | undefined };

export type RefusedMessage = Extract<Passing, { readonly kind: "refused" }>;

/** What an inspector does without having been asked. */
export interface PassingPorts {
  /** To whom the side's messages go. */
  readonly pass: (frame: Frame) => void;
  readonly refuse: (refused: RefusedMessage) => void;
}

export interface TunnelInspector {
  /** Once for each side, before its first message. */
  attach(direction: SideName, ports: PassingPorts): void;
  /** The message belongs to the inspector from now on. */
  message(direction: SideName, message: Frame): Passing | Promise<Passing>;
  /** The side sends nothing more: what was held of it. */
  end(direction: SideName): Passing | Promise<Passing>;
}
