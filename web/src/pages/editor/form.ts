import type { FormRulesRecord, UseFormReturnType } from "@mantine/form";
import type { Values } from "./values";

export type EditorForm = UseFormReturnType<Values, Values, FormRulesRecord<Values>>;
