import createFetchClient from "openapi-fetch";
import createClient from "openapi-react-query";
import { request } from "./http";
import type { components, paths } from "./schema";

/** Plain calls, typed from the OpenAPI snapshot; they throw `ApiError` for every answer that is not 2xx. */
export const http = createFetchClient<paths>({ baseUrl: globalThis.location?.origin ?? "", fetch: request });

/** The same as query hooks. */
export const api = createClient(http);

export type Schemas = components["schemas"];
