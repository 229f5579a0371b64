import type { ComponentType } from "react";
import type { EditorForm } from "./form";
import { heartbeat } from "./heartbeat";
import { http } from "./http";
import type { Values } from "./values";

/** Takes a field of a saved check, or what stands for it when it is missing; what nobody takes goes back as it came. */
export type Take = <T>(name: string, missing: T) => T;

/** Everything that the editor knows of a kind of check. A new kind is a file with one of these, and its place below. */
export interface Kind {
  /** As in `check.kind`. */
  kind: string;
  label: string;
  /** What it finds out, in a few words. */
  says: string;
  /** Locations look, and vote. */
  probed: boolean;
  /** Whether enough is filled in for the server to look at it. */
  begun: (v: Values) => boolean;
  /** The fields of the check, without its kind. */
  toCheck: (v: Values) => Record<string, unknown>;
  fromCheck: (take: Take) => Partial<Values>;
  /** A name to propose. */
  name: (v: Values) => string;
  /** What is looked at; stands at the top of the form. */
  Target: ComponentType<TargetProps>;
  /** What is rarely changed; stands further down. */
  More: ComponentType<{ form: EditorForm }> | null;
}

export interface TargetProps {
  form: EditorForm;
  /** A new monitor. */
  fresh: boolean;
  /** Several addresses were pasted. */
  several: (addresses: string[]) => void;
}

export const kinds: readonly Kind[] = [http, heartbeat];

/** A kind that this page does not know yet is edited as far as it goes: everything but its check. */
export const kindOf = (kind: string): Kind =>
  kinds.find((one) => one.kind === kind) ?? { ...unknown, kind, label: kind };

const unknown: Kind = {
  kind: "",
  label: "",
  says: "",
  probed: true,
  begun: () => true,
  toCheck: () => ({}),
  fromCheck: () => ({}),
  name: () => "",
  Target: () => null,
  More: null,
};
