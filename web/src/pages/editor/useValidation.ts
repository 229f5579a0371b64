import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { http, type Schemas } from "../../api/client";
import { useSettled } from "../../lib/useSettled";
import type { EditorForm } from "./form";
import { kindOf } from "./kinds";
import { bodyOf, fieldOf, proposedName } from "./values";

/**
 * Validation by the server while one types: the same rules that decide when it is saved. Refusals are
 * put at their fields once a field was touched, so that an empty form is not red all over.
 */
export function useValidation(
  form: EditorForm,
  id: string | undefined,
  touched: ReadonlySet<string>,
): { validation: Schemas["Validation"] | null; loose: string[] } {
  const v = form.values;
  const monitor = useSettled(bodyOf({ ...v, name: v.name.trim() || proposedName(v) }), 300);
  const query = useQuery({
    queryKey: ["validate", id, monitor],
    enabled: kindOf(v.kind).begun(v),
    staleTime: 30_000,
    retry: false,
    refetchInterval: false,
    placeholderData: (before: Schemas["Validation"] | undefined) => before,
    queryFn: async () => (await http.POST("/api/v1/monitors/validate", { body: { id, monitor } })).data,
  });
  const data = query.isPlaceholderData ? undefined : query.data;
  const current = useRef(form);
  current.current = form;
  useEffect(() => {
    if (!data) return;
    const errors: Record<string, string> = {};
    for (const error of data.errors) {
      const field = fieldOf(error.field);
      if (field !== null && touched.has(field.split(".")[0] ?? field)) errors[field] = error.message;
    }
    current.current.setErrors(errors);
  }, [data, touched]);
  const loose = (data?.errors ?? []).filter((e) => fieldOf(e.field) === null).map((e) => `${e.field}: ${e.message}`);
  return { validation: query.data ?? null, loose };
}
