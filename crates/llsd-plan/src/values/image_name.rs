//! The name of an image and the digest that pins it: `image@digest`.

/// The image pinned to this digest, unless its name pins it already.
pub fn pinned(image: &str, digest: Option<&str>) -> String {
    match digest {
        Some(digest) if split_digest(image).1.is_none() => format!("{image}@{digest}"),
        _ => image.to_owned(),
    }
}

/// The name without its digest, and the digest.
pub fn split_digest(image: &str) -> (&str, Option<&str>) {
    image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_pinned_once() {
        assert_eq!(pinned("r/a:1", None), "r/a:1");
        let image = pinned("r/a:1", Some("sha256:0"));
        assert_eq!(split_digest(&image), ("r/a:1", Some("sha256:0")));
        assert_eq!(pinned(&image, Some("sha256:1")), image);
    }
}
