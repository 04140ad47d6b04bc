/** Types shared by a tunnel and the code that observes, inspects and ends it. */

export type SideName = "client" | "upstream";

export interface TunnelObserver {
  /** Called before the message is passed on. `data` belongs to the tunnel and must not be kept or changed. */
  message(direction: SideName, data: Buffer, isBinary: boolean): void;
}

/** Reason with which the session's signal is aborted. */
export interface TunnelClosing {
  readonly kind: "tunnel_closing";
  /** Close code: 1000 to 1014 except 1004 to 1006, or 3000 to 4999. */
  readonly code: number;
  /** Reason of at most 123 bytes of UTF-8. */
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

/** Outcome of the inspection of a message. */
export type InspectedMessage =
  /** These frames replace the message. */
  | { readonly kind: "passes"; readonly frames: readonly Frame[] }
  /** The session ends. `notice`: message sent to the client before it is closed. */
  | { readonly kind: "refused"; readonly closing: TunnelClosing; readonly notice: string | undefined };

export type RefusedMessage = Extract<InspectedMessage, { readonly kind: "refused" }>;

/** Actions of an inspector that are not the answer to a message. */
export interface InspectorPorts {
  /** Sends a frame to the receiver of the side's messages. */
  readonly pass: (frame: Frame) => void;
  readonly refuse: (refused: RefusedMessage) => void;
}

export interface TunnelInspector {
  /** Must be called once for each side, before its first message. */
  attach(direction: SideName, ports: InspectorPorts): void;
  /** Inspects a message, which belongs to the inspector from now on. */
  message(direction: SideName, message: Frame): InspectedMessage | Promise<InspectedMessage>;
  /** Must be called when the side has ended. Returns the frames that were still held back. */
  end(direction: SideName): InspectedMessage | Promise<InspectedMessage>;
}
