import { notifications } from "@mantine/notifications";
import { problemOf } from "../api/problem";

/** A short message in the corner, read out politely; for what has just been done. */
export function tell(message: string) {
  notifications.show({ message, autoClose: 6000, withBorder: true });
}

/** The same for what was refused. */
export function tellProblem(error: unknown) {
  notifications.show({
    title: "Not done",
    message: problemOf(error).message,
    autoClose: 12_000,
    withBorder: true,
    role: "alert",
  });
}
