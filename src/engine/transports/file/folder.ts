/** Something in a folder, as its listing tells. */
export interface FolderEntry {
  readonly name: string;
  readonly kind: "file" | "folder" | "link" | "other";
  readonly bytes: number;
  /** In nanoseconds, as exact as the folder knows it. */
  readonly modified: bigint;
  /** Which file bears the name, where the folder tells: two of the same length may come in one tick of its clock. */
  readonly id?: bigint;
}

/** What reading a file came to. What may pass by itself, a folder that is away, is thrown. */
export type FileReading =
  | { readonly kind: "read"; readonly body: Buffer }
  /** Somebody else took it. */
  | { readonly kind: "gone" }
  /** It is not what the listing said any more: its writer is still at it. */
  | { readonly kind: "changing" }
  | { readonly kind: "too large" }
  | { readonly kind: "unreadable"; readonly reason: string };

/** Where a file goes when it is done with. "aside" is out of sight, in the folder itself. */
export type Shelf = "archive" | "errors" | "aside";

/** Where files are taken from: on this machine, or on a server. */
export interface InboundFolder {
  /** The same on every node, so that a file is known again by the next leader. */
  readonly place: string;
  /** Checks what it can before the first look. Throws a HoldfastError where settings are wrong. */
  open(): Promise<void>;
  list(): Promise<readonly FolderEntry[]>;
  read(entry: FolderEntry, most: number, on?: Shelf): Promise<FileReading>;
  /** What is there under a name now, in the folder or on a shelf; null where nothing is. */
  look(name: string, on?: Shelf): Promise<FolderEntry | null>;
  /** Moves it there in one step, over no file that it finds there. Answers its new name, or null where it is gone. */
  move(name: string, to: Shelf, digest: string | null): Promise<string | null>;
  /** Moves it back, over no other file: false where one has its name by now. */
  putBack(moved: string, from: Shelf, name: string): Promise<boolean>;
  /** A file that is gone already is as good. */
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}

export type RenameEnd =
  | { readonly kind: "renamed" }
  /** The name is taken, and nothing was to be replaced. */
  | { readonly kind: "exists" }
  /** `isUnknown`: nobody said whether it was done. */
  | { readonly kind: "failed"; readonly reason: string; readonly isUnknown: boolean };

/** Where files are put. Names that begin with a dot are not looked at by whoever reads there. */
export interface OutboundFolder {
  /** Who writes there gives names one after the other, by this; null where a rename replaces nothing by itself. */
  readonly turnsOf: string | null;
  /** Ready to be written to. What prevents it is thrown, and nothing was written. */
  open(): Promise<void>;
  /** Writes all of it to the disk, under a name that nobody reads. */
  writeHidden(name: string, body: Buffer): Promise<void>;
  /** What is there under a name, as far as it matters. */
  compare(name: string, body: Buffer): Promise<"absent" | "same" | "other">;
  rename(hidden: string, name: string, replace: boolean): Promise<RenameEnd>;
  /** Makes sure that the new name survives a power cut, where the folder can. */
  settle(): Promise<void>;
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}
