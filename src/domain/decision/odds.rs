//! What a policy costs and gives, in numbers (spec: decision 4).
