//! Generates Rust code from the `.proto` files, without `protoc`.

use std::path::PathBuf;

use prost::Message as _;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    println!("cargo:rerun-if-changed=proto");
    let files = protox::compile(["results.proto", "cache.proto", "store.proto"], ["proto"])?;
    // pbjson-types writes the UTC offset of a timestamp as `+00:00`, which the official artifact client rejects
    // in combination with a fraction. Our type writes `Z`.
    let well_known = [
        (".google.protobuf.Timestamp", "crate::wkt::Timestamp"),
        (".google.protobuf.Int64Value", "crate::wkt::Int64Value"),
        (".google.protobuf.StringValue", "::prost::alloc::string::String"),
    ];

    let mut messages = prost_build::Config::new();
    messages.compile_well_known_types();
    // Maps are ordered, so that equal rows have equal bytes.
    messages.btree_map(["."]);
    // Payloads are the largest rows and are read for every delivery, so their bytes are not copied.
    messages.bytes([".farrier.store.v1.Payload.json"]);
    // Rows with secrets have a `Debug` of their own, which does not print them.
    messages.skip_debug([".farrier.store.v1.Hook", ".farrier.store.v1.SigningKey", ".farrier.store.v1.MirrorRemote"]);
    for (proto, rust) in well_known {
        messages.extern_path(proto, rust);
    }
    messages.compile_fds(files.clone())?;

    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut json = pbjson_build::Builder::new();
    for (proto, rust) in well_known {
        json.extern_path(proto, rust);
    }
    json.register_descriptors(&files.encode_to_vec())?
        .out_dir(out)
        .preserve_proto_field_names()
        .ignore_unknown_fields()
        .emit_fields()
        .build(&[".farrier.results"])?;
    Ok(())
}
